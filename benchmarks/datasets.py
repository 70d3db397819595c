"""The paper's data sets from files NAME.svm.xz, looked for in $POCKETKERNEL_DATA and then in ../shared/data."""

import lzma
import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

HERE = Path(__file__).resolve().parent


def folder() -> Path:
    return Path(os.environ.get("POCKETKERNEL_DATA") or HERE.parent.parent / "shared" / "data")


def missing(names: Iterable[str]) -> str:
    """Why these data sets cannot be used, or nothing."""
    absent = [name for name in names if not (folder() / f"{name}.svm.xz").exists()]
    return f"no {', '.join(absent)} (.svm.xz) in {folder()}: set POCKETKERNEL_DATA" if absent else ""


@lru_cache(maxsize=2)
def load_sparse(name: str):
    """Rows as CSR and labels -1, +1, in the order of the file."""
    with lzma.open(folder() / f"{name}.svm.xz") as file:
        X, y = load_svmlight_file(file)
    return X, y


@lru_cache(maxsize=2)
def load(name: str):
    """The same rows as a dense array."""
    X, y = load_sparse(name)
    return np.ascontiguousarray(X.toarray()), y
