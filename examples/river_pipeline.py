"""A kernel learner at the end of a River pipeline, in a fixed number of bytes.

python examples/river_pipeline.py
"""

from river import datasets, evaluate, linear_model, metrics, preprocessing
from river.datasets import synth

from pocketkernel import MOMDS
from pocketkernel.river import KernelClassifier

STREAMS = {
    "Phishing": (datasets.Phishing(), 9),
    "Bananas": (datasets.Bananas(), 2),
    "RandomRBF": (synth.RandomRBF(seed_model=1, seed_sample=2, n_features=10, n_centroids=20).take(10_000), 10),
}

print(f"{'stream':<12}{'logistic':>10}{'kernels':>10}{'bytes':>8}   favourite kernel")
for name, (stream, width) in STREAMS.items():
    rows = list(stream)
    accuracy = []
    kernels = KernelClassifier(MOMDS(memory="32KiB"), width=width, seed=0)
    for classifier in (linear_model.LogisticRegression(), kernels):
        model = preprocessing.StandardScaler() | classifier
        accuracy.append(evaluate.progressive_val_score(rows, model, metrics.Accuracy()).get())
    learner = model["KernelClassifier"].learner_
    width_of = (0.25, 1, 4, 16, 64)[int(learner.kernel_weights_.argmax())]
    print(f"{name:<12}{accuracy[0]:>10.1%}{accuracy[1]:>10.1%}{learner.nbytes:>8}   Gaussian of width {width_of}")
