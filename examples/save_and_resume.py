"""Stop in the middle of a stream, resume in another process, and end with the same bits."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import pocketkernel
from pocketkernel import MOMDS
from pocketkernel.stream import known_kernel

X, y = known_kernel(6000)
RESUME = """
import sys, pocketkernel
from pocketkernel.stream import known_kernel
X, y = known_kernel(6000)
model = pocketkernel.load(sys.argv[1])
model.partial_fit(X[3000:], y[3000:])
model.save(sys.argv[1])
"""

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.safetensors"
    first_half = MOMDS(memory="16KiB", random_state=0).partial_fit(X[:3000], y[:3000])
    first_half.save(path)
    print(f"saved after 3,000 rows: {path.stat().st_size:,} bytes on disk, {first_half.nbytes:,} in memory")
    subprocess.run([sys.executable, "-c", RESUME, path], check=True)
    resumed = pocketkernel.load(path)
    print(f"loaded after {resumed.diagnostics_.rounds:,} rows: still {path.stat().st_size:,} bytes on disk")

uninterrupted = MOMDS(memory="16KiB", random_state=0).partial_fit(X, y)
same = np.array_equal(resumed.decision_function(X), uninterrupted.decision_function(X))
print("same bits as the uninterrupted run:", same)
assert same
assert resumed.to_bytes() == uninterrupted.to_bytes()
