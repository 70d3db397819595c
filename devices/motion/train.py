"""Trains the classifier on one person's windows, and exports it with the windows of another."""

import shutil
from pathlib import Path

import numpy as np
from windows import MOTIONS, features, windows

from pocketkernel import PocketClassifier, device

HERE = Path(__file__).resolve().parent
PROJECT = HERE / "build" / "project"

if __name__ == "__main__":
    shutil.rmtree(PROJECT, ignore_errors=True)
    made, labels = windows(1500, seed=0)
    # Windows come in no order, so the last labels say nothing of the next.
    model = PocketClassifier(memory="8KiB", lag=False, random_state=0).fit(features(made), np.array(MOTIONS)[labels])
    print(f"trained on {len(made)} windows: {model.diagnostics_['mistakes']} mistakes")
    device.export(model, PROJECT, "cortex-m4", measure=False)
    model.save(PROJECT / "model.pk")
    for name in ("main.cpp", "features.hpp"):
        shutil.copyfile(HERE / name, PROJECT / name)
    other, labels = windows(800, seed=1, pace=1.5, strength=0.45, tilt=0.6)
    records = np.zeros(len(other), [("values", "<f4", other.shape[1:]), ("label", "<i4")])
    records["values"], records["label"] = other, labels
    (PROJECT / "windows.bin").write_bytes(records.tobytes())
    print(f"made {PROJECT}; now: make -C {PROJECT} run")
