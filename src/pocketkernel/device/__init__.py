"""A trained model as a C++ project for a chip, where it keeps learning, and back again.

Examples
--------
>>> import tempfile
>>> from pathlib import Path
>>> from sklearn.datasets import make_circles
>>> import pocketkernel
>>> X, y = make_circles(500, noise=0.1, factor=0.5, random_state=0)
>>> model = pocketkernel.PocketClassifier(memory="8KiB", random_state=0).fit(X, y)
>>> with tempfile.TemporaryDirectory() as folder:
...     project = pocketkernel.device.export(model, Path(folder) / "circles")
...     (project / "Makefile").is_file()
True
"""

from pocketkernel.device.export import TARGETS as TARGETS
from pocketkernel.device.export import Target as Target
from pocketkernel.device.export import export as export
from pocketkernel.device.state import from_bytes as from_bytes
from pocketkernel.device.state import scaler_from_bytes as scaler_from_bytes

__all__ = ["TARGETS", "Target", "export", "from_bytes", "scaler_from_bytes"]
