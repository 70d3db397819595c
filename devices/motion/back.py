"""Brings the state of the board back, and shows what it has learned there."""

from train import PROJECT
from windows import MOTIONS, features, windows

from pocketkernel import device, load

if __name__ == "__main__":
    left = load(PROJECT / "model.pk")
    back = device.from_bytes(left, (PROJECT / "state.bin").read_bytes())
    made, labels = windows(1000, seed=2, pace=1.5, strength=0.45, tilt=0.6)
    truth = [MOTIONS[label] for label in labels]
    for name, model in (("as it left", left), ("as it came back", back)):
        print(
            f"{name}: {model.diagnostics_['rounds']} windows learned, accuracy {model.score(features(made), truth):.3f}"
        )
