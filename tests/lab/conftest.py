"""Fixtures of the laboratory's tests."""

import pytest
from tiny_paper import write_data_set

from pocketkernel.lab.catalogue import NAMES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a tiny file for each of the paper's data sets."""
    made = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(NAMES):
        write_data_set(made, name, seed=seed)
    return made
