"""Runs that are made up, and a reader of pages that checks what every page must have."""

import re
from collections import Counter
from html.parser import HTMLParser

import numpy as np

from pocketkernel.evaluate import Curve, Record
from pocketkernel.evaluate.curve import COLUMNS

LONG = "a learner whose name goes on " * 10 + "x" * 300


def make(learner="M-OMD-S", seed=0, points=40, kernels=("gaussian 1", "linear"), **settings):
    rng = np.random.default_rng(seed)
    rows = np.arange(1, points + 1) * 50
    columns = {name: np.cumsum(rng.integers(0, 3, points)) for name in COLUMNS}
    columns |= {"rows": rows, "mistakes": np.cumsum(rng.integers(5, 20, points)), "nbytes": np.full(points, 65_000)}
    weights = rng.dirichlet(np.ones(len(kernels)), points) if kernels else np.empty((points, 0))
    about = {"learner": learner, "seed": seed, "budget": 100, "promised_bytes": 65_536, "command": "pocketkernel run x"}
    return Record(about | settings, Curve(**columns, weights=weights, kernels=kernels))


def odd_curve(what):
    points = {"empty": 0, "one point": 1}.get(what, 12)
    columns = {name: np.arange(1, points + 1) for name in COLUMNS}
    weights = np.full((points, 2), 0.5)
    if what == "nan":
        columns["loss"] = np.full(points, np.nan)
        columns["stored"] = np.where(np.arange(points) % 3 == 1, np.nan, 1.0)
        weights[3:5] = np.nan
    elif what == "inf":
        columns["loss"] = np.where(np.arange(points) > 5, np.inf, 1.0)
        columns["seconds"] = np.full(points, np.inf)
    elif what == "zero":
        columns |= {name: np.zeros(points) for name in COLUMNS if name != "rows"}
    elif what == "huge":
        columns["loss"] = np.geomspace(1, 1e308, points)
        columns["rows"] = np.arange(1, points + 1) * 2**58
    elif what == "constant":
        columns["loss"] = np.full(points, 5.0)
    return Curve(**columns, weights=weights, kernels=("a", "b"))


VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Checks that tags are balanced, and gathers what is in them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], Counter(), [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def values(self, name):
        return [found[name] for _, found in self.attributes if name in found]


def checked(path):
    """Text and tags of a page, which is whole and needs nothing else."""
    text = path.read_text(encoding="utf-8")
    found = Page(text)
    # Everything in one file: no scripts, no addresses, nothing that is fetched.
    assert found.tags["script"] == found.tags["img"] == found.tags["iframe"] == 0
    assert found.values("href") == ["data:,"]
    assert found.values("src") == []
    assert not re.search(
        r"https?://|//[a-z]+\.|@import|url\(", "".join(re.findall(r"<[^>]*>|<style>.*?</style>", text, re.S))
    )
    assert not any(name.startswith("on") for _, attributes in found.attributes for name in attributes)
    ids = found.values("id")
    assert len(set(ids)) == len(ids)
    for both in found.values("aria-labelledby"):
        assert set(both.split()) <= set(ids)
    assert not re.search(r"\bnan\b|\binf\b", " ".join(found.values("d") + found.values("cx") + found.values("y1")))
    assert [other.name for other in path.parent.iterdir()] == [path.name]
    return text, found
