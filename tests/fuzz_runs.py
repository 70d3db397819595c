"""Mutated models and checkpoints of runs: each is refused with one sentence, or works.

Run by test_fuzz.py as fuzz_model_file.py is: `python fuzz_runs.py JOURNAL [TIMES]`, or with `- KIND NUMBER`.
"""

import hashlib
import io
import json
import random
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np

from fuzz_model_file import BOMBS, HOSTILE, RAW, WORDS, canonical, main, mutated, rows
from pocketkernel import ModelFileError, model_file
from pocketkernel.evaluate import Job, Pipeline, RunError
from pocketkernel.evaluate.checkpoint import restore, to_bytes
from pocketkernel.learners import plausible
from pocketkernel.stored import estimator_of


def svm_text(n=60):
    X, y = rows(5, n)
    lines = []
    for row, label in zip(X, y, strict=True):
        lines.append(" ".join([f"{label}", *(f"{k}:{v:.4f}" for k, v in enumerate(row, 1) if v)]) + "\n")
    return "".join(lines).encode()


def table_text(n=60):
    X, y = rows(2, n)
    colours = np.array(["red", "green", "blue", "\x1b[1m", ""])[np.arange(n) % 5]
    lines = ["size,colour,age,kind\n"]
    for (a, b), colour, label in zip(X, colours, y, strict=True):
        lines.append(f"{a:.3f},{colour},{b:.3f},{'no' if label < 0 else 'yes'}\n".replace("0.000", ""))
    return "".join(lines).encode()


SOURCES = {"svm": svm_text(), "csv": table_text()}
TABLE = {"label": "kind", "categorical": ["colour"], "missing": "mean", "max_categories": 3, "hash_width": 2}
SMALL = {"memory": "16KiB", "random_state": 0}
CHOICES = {  # source and options of a job
    "plain": ("svm", {"parameters": SMALL}),
    "standard": ("svm", {"scale": "standard", "learner": "momds", "parameters": SMALL}),
    "maxabs": ("svm", {"scale": "maxabs", "learner": "raker", "parameters": SMALL}),
    "table": ("csv", {"scale": "minmax", "learner": "momdh", "parameters": {"budget": 8}, "reading": TABLE}),
    "classes": ("csv", {"learner": "multiclassmomds", "parameters": {"budget": 8}, "reading": TABLE}),
}
FOLDER = Path(tempfile.mkdtemp())


def job(choice):
    source, options = CHOICES[choice]
    return Job(io.BytesIO(SOURCES[source]), **options, block=10)


def make_runs():
    """Of each choice its model with pipeline, and a checkpoint."""
    for choice in CHOICES:
        run = job(choice).start()
        for progress in run.steps():
            if progress.rows == 40:
                yield to_bytes(run, "fingerprint"), choice
        yield run.to_bytes(), choice


RUNS = dict(make_runs())


def load(data, choice):
    """What `predict` does with the model of a run, and `run` with a checkpoint."""
    contents = model_file.decode(data, plausible)
    if "progress" in contents.sections:
        file = FOLDER / "checkpoint"
        file.write_bytes(data)
        run = job(choice).start()
        try:
            restore(run, file, "fingerprint")
        except RunError as error:
            assert str(error).startswith(f"{file}: the checkpoint "), error
            raise ModelFileError(str(error)) from None
        to_the_end(run.steps())
        return
    model, pipeline = estimator_of(contents), Pipeline.of(contents)
    if pipeline is not None:
        to_the_end(predictions(model.set_params(n_jobs=None), pipeline))


def predictions(model, pipeline):
    stream = pipeline.open(io.BytesIO(SOURCES["svm" if pipeline.encoding is None else "csv"]))
    for X in pipeline.rows(stream):
        yield model.predict(X)


def to_the_end(steps):
    """Use what was accepted. The text may not be one that it is made for, which is told of as of any text."""
    with warnings.catch_warnings(), suppress(ValueError):
        warnings.simplefilter("ignore")
        for _ in steps:
            pass


# ---- sections and arrays under good checksums -----------------------------------------------------------------------


def split(data):
    """Metadata, and dtype, shape and bytes of each tensor."""
    end = 8 + int.from_bytes(data[:8], "little")
    tensors = json.loads(data[8:end])
    metadata = tensors.pop("__metadata__")
    for name, about in tensors.items():
        a, b = about["data_offsets"]
        tensors[name] = (about["dtype"], about["shape"], data[end + a : end + b])
    return metadata, tensors


def join(metadata, tensors):
    """As model_file does it, from the description of the format."""
    table, at = {}, 0
    for name, (dtype, shape, piece) in sorted(tensors.items()):
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(piece)]}
        at += len(piece)
    payload = b"".join(piece for _, (_, _, piece) in sorted(tensors.items()))
    metadata = {k: v for k, v in metadata.items() if k != "sha256"}
    metadata["sha256"] = hashlib.sha256(canonical([metadata, table]).encode() + payload).hexdigest()
    header = canonical({"__metadata__": metadata, **table}).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + payload


def section_of(metadata):
    return "pipeline" if "pipeline" in metadata else "progress"


HOSTILE_FIELDS = [
    *HOSTILE, 10**9, 10**12, "csv", "libsvm", "parquet", "jsonl", "standard", "maxabs", "minmax", "mean", "error",
    "auto", ",", ";", "\n", "kind", "size", "colour", "__init__", [{}], [{"name": "a"}], [{"name": "a"}] * 2,
    ["x"] * 1000,
    {"name": "size", "categorical": True}, {"features": []}, {"format": "csv"}, [10**9], [-1], [1, 1], 40, 41, 60,
]  # fmt: skip


def edit_section(data, rng):
    """Fields of the pipeline or the progress replaced, removed or added."""
    metadata, tensors = split(data)
    name = section_of(metadata)
    return join(metadata | {name: canonical(mutated(json.loads(metadata[name]), rng, HOSTILE_FIELDS))}, tensors)


def bomb_section(data, rng):
    """Another text in the place of a section, or somewhere in it; or a section too many."""
    metadata, tensors = split(data)
    name = rng.choice([section_of(metadata), section_of(metadata), "pipeline", "progress", "other"])
    text = metadata.get(name, "{}")
    at = rng.randrange(len(text))
    piece = rng.choice([*BOMBS, "NaN", "1e999", " "])
    return join(metadata | {name: rng.choice([piece, text[:at] + piece + text[at + rng.randint(0, 9) :]])}, tensors)


def edit_arrays(data, rng):
    """Numbers, shapes, dtypes and names of the arrays."""
    metadata, tensors = split(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        if not tensors:
            break
        name = rng.choice(sorted(tensors))
        dtype, shape, piece = tensors.pop(name)
        way = rng.randrange(6)
        if way == 0:
            name = rng.choice(
                ["scaler.sum", "scaler.count", "scaler.low", "curve.rows", "curve.weights", "new", "state", ""]
            )
        elif way == 1:
            dtype = rng.choice(["F64", "I64", "U8", "F32", "", "\ud800"])
        elif way == 2:
            shape = rng.choice(
                [[], [0], [1], shape[::-1], [*shape, 1], [2**39, 0], [2**62], [-1], [2**39], [True], [1.0]]
            )
        elif way == 3 and rng.random() < 0.5:
            continue
        elif way == 4:
            piece = piece[: rng.choice([0, 8, len(piece) - 8])] if rng.random() < 0.5 else piece + bytes(8)
            shape = [len(piece) // 8]
        elif piece and name != "state":
            words = [piece[at : at + 8] for at in range(0, len(piece), 8)]
            for _ in range(rng.choice([1, 1, len(words)])):
                words[rng.randrange(len(words))] = rng.choice(WORDS).to_bytes(8, sys.byteorder)
            piece = b"".join(words)
        tensors[name] = (dtype, shape, piece)
    return join(metadata, tensors)


KINDS = {kind.__name__: (kind, 100) for kind in RAW} | {
    edit_section.__name__: (edit_section, 3000),
    bomb_section.__name__: (bomb_section, 400),
    edit_arrays.__name__: (edit_arrays, 2000),
}


def case(kind, number):
    rng = random.Random(f"{kind} {number}")
    data = rng.choice([*RUNS])
    return data, KINDS[kind][0](data, rng)


def judge(kind, number):
    """What became of a case: refused, accepted, or unchanged."""
    data, changed = case(kind, number)
    if changed in RUNS:
        return "unchanged"
    try:
        load(changed, RUNS[data])
    except ModelFileError as error:
        assert len(str(error)) < 600, error
        assert "\n" not in str(error), error
        return "refused"
    assert KINDS[kind][0] not in RAW, "a change of the bytes went unnoticed"
    return "accepted"


def self_check():
    """The helpers above write what the library writes, and it works."""
    for data, choice in RUNS.items():
        assert join(*split(data)) == data
        load(data, choice)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        self_check()
        main(sys.argv[1], KINDS, judge, *map(int, sys.argv[2:]))
    else:
        print(case(sys.argv[2], int(sys.argv[3]))[1][:2000])
        print(judge(sys.argv[2], int(sys.argv[3])))
