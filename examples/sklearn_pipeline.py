"""A scikit-learn pipeline: scale, learn in 128 KiB, tune, and inspect the result."""

from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from pocketkernel import MulticlassMOMDS, gaussians

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# How much fits into 128 KiB, before any data is seen.
learner = MulticlassMOMDS(memory="128KiB", storage="float16", kernels=gaussians([1, 2, 4]), random_state=0)
print(learner.plan(n_features=64, n_classes=10))

pipeline = make_pipeline(MaxAbsScaler(), learner)
search = GridSearchCV(pipeline, {"multiclassmomds__step": [0.5, 1.0, 2.0]}, cv=3).fit(X_train, y_train)
best = search.best_estimator_[-1]

print(f"step {best.step}, accuracy on unseen digits {search.score(X_test, y_test):.3f}")
print(f"{best.nbytes:,} bytes, {best.budget_} rows for {len(best.classes_)} classes")
print("kernel weights", best.kernel_weights_.round(3))
