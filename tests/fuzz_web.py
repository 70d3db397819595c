"""Mutated model files for the loader of the WebAssembly package: it must accept what Python accepts, and nothing else.

Used by test_web.py; `python fuzz_web.py DIST TIMES` compares TIMES as many, for web/dist at DIST.
"""

import hashlib
import json
import random
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

import fuzz_model_file as fuzz
import pocketkernel as pk
from pocketkernel.learners import raw_scores

DTYPES = ["<i8", "<i4", "<i2", "|i1", "<i1", "|i8", ">i8", "<u8", "|u1", "<f8", "<f4", "<f2", "|f1", "|b1", "<b1",
          "<U1", "<U3", ">U3", "<U03", "<U0", "<U99999999", "|O", "<O"]  # fmt: skip
VALUES = [
    [0, 1], [1, 0], [0, 0], [0], [], [0, 1, 2], ["a", "b"], ["b", "a"], ["a\0", "b"], ["\ud800", "b"], [-0.0, 1.0],
    ["\U0001f600", "\uffff"], ["\uffff", "\U0001f600"], [0.5, 1.5], [0.1, 1.1], [65504.0, 65505.0], [False, True],
    [True, False], [-1, 1], [200, 300], [2**63, 2**63 + 1], [2**64, 2**64 + 1], ["abc", "abcd"], [0, "a"], [0, 1.0],
    ["", ""], ["", "a"], [None, 1],
]  # fmt: skip
PLACES = [None, [0, 1], [1, 0], [0, 0], [0], [2, 1], [4, 3, 2], [1, 2, 3], [0, 5], [0, 1.0], [True, False], {}, "01"]
COUNTS = [
    None,
    ["0" * 20] * 2,
    ["0" * 19 + "7"] * 3,
    ["09" + "9" * 18] * 2,
    ["1" * 20] * 2,
    [1, 2],
    ["\u0660" * 20] * 2,
]
SEEDS = [-1, 2**64, 2**64 - 1, 2**63, 1.0, 1.5, "1", None, True, 10**20, 10**19, 0]
NAMES = [None, ["a", "b", "c"], ["a", "b"], ["\x7f", "\ud800", "\U0001f600"], [1, 2, 3], "abc", ["a"] * 18, {}]
OPTIONS = ["memory", "lag", "loss", "quantile", "n_classes", "class_weight", "epochs", "random_state", "new", "",
           "__proto__", "toString"]  # fmt: skip
SETTINGS = [*fuzz.HOSTILE, [[0, 1.0], [1, 2]], [["a", 1e9]], [["a", 1.1e9]], [[0, True]], [[0, -1]], [[0]], "balanced",
            1e16, 1e-5, 123456789012345680.0, 5e-324, 0.1, 1e22, 1e21]  # fmt: skip
SIZES = [0, 1, 2, 3, 63, 64, 255, 256, 257, 10**4, 10**5, 10**6, 10**7, 2**31, 2**32 - 1, 2**32, 2**32 + 3, 2**63]
KERNELS = [
    ["linear"], ["gaussian", 0.5], ["matern32", 1.0], ["polynomial", 1], ["polynomial", 4], ["laplacian", 1.0],
    ["rational_quadratic", 1.0, 2], ["rational_quadratic", 1.0, 2.5], ["matern52", 1.0], [["gaussian"], 1.0],
    ["toString", 1.0], ["linear", 1.0],
]  # fmt: skip


ESTIMATORS = {"PocketClassifier": pk.PocketClassifier, "PocketRegressor": pk.PocketRegressor}


def models():
    """Files of what runs in the browser: in single precision, of a classifier with labels of every kind."""
    for data in fuzz.MODELS:
        _, model, _ = fuzz.unpack(data)
        if model["estimator"] in ESTIMATORS and not model["recipe"]["doubles"] and not model["extra"]:
            yield data
    X, _ = fuzz.rows(3)
    kinds = (
        ["a", "é", "\U0001f600"], [1.0, 2.0], np.array([1, 2], np.float32), [False, True], np.array([1, 200], np.uint8),
        [2**60, 2**62], np.array(["x", "y"], object),
    )  # fmt: skip
    for labels in kinds:
        y = np.array(labels)[np.arange(len(X)) % len(labels)]
        yield pk.PocketClassifier(memory="4KiB", random_state=2**63 + 5).partial_fit(X, y).to_bytes()
    late = pk.PocketClassifier(memory="4KiB", random_state=1, n_classes=5)
    yield late.partial_fit(X[:1], [3]).partial_fit(X, np.arange(len(X)) % 3 + 1).to_bytes()
    yield pk.PocketClassifier(memory="64KiB", random_state=1).partial_fit(X, np.arange(len(X)) % 2).to_bytes()


def edited(change):
    """A kind that changes the description, and lets the state say that it belongs to it."""

    def kind(data, rng):
        metadata, model, state = fuzz.unpack(data)
        change(model, rng)
        with suppress(TypeError, ValueError, KeyError, AttributeError):  # of a recipe that is none
            state = fuzz.with_good_checksums(state, state[fuzz.HEADER.size :], model["recipe"])
        return fuzz.pack(metadata, fuzz.canonical(model), state)

    return kind


def labels(model, rng):
    ways = {"dtype": DTYPES, "values": VALUES, "places": PLACES, "counts": COUNTS}
    if model["labels"] is None:  # of a regressor
        model["labels"] = {"dtype": "<i8", "values": [0, 1]} if rng.random() < 0.5 else rng.choice(fuzz.HOSTILE)
        return
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice(list(ways))
        model["labels"][name] = rng.choice(ways[name] if rng.random() < 0.8 else fuzz.HOSTILE)


def seed(model, rng):
    model["recipe"]["seed"] = rng.choice([*SEEDS, rng.getrandbits(64)])


def options(model, rng):
    model["parameters"][rng.choice(OPTIONS)] = rng.choice(SETTINGS)


def names(model, rng):
    model["feature_names"] = rng.choice(NAMES)


def sizes(model, rng):
    recipe = model["recipe"]
    for _ in range(rng.choice([1, 2, 3])):
        name = rng.choice(["features", "classes", "budget", "kernels"])
        if name == "kernels":
            recipe["kernels"] = recipe["kernels"] + [rng.choice(KERNELS)] * rng.choice([1, 1, 40])
        else:
            recipe[name] = rng.choice(SIZES)
    model["n_features"] = rng.choice([recipe["features"], recipe["features"], float(recipe["features"]), True, "3"])


KINDS = fuzz.KINDS | {
    change.__name__: (edited(change), cases)
    for change, cases in ((labels, 3000), (seed, 400), (options, 1500), (names, 200), (sizes, 2500))
}

SCRIPT = """
import { readFileSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
const [dist, folder] = process.argv.slice(1);
const m = await import(`file://${dist}/pocketkernel/pocketkernel.js`);
await m.init(readFileSync(`${dist}/pocketkernel/pocketkernel.wasm`));
const all = readFileSync(`${folder}/files`), told = [];
let at = 0;
const learn = {
    PocketClassifier(model, rows) {
        const label = model.labels.findIndex((one) => one !== null);
        try {
            model.learnMany(rows, [label, label, label]);
        } catch (error) {
            if (!error.message.includes("class_weight")) throw error;
        }
        return model.scoreMany(rows);
    },
    PocketRegressor(model, rows) {
        model.predictThenLearn(rows, Array(3 * model.outputs).fill(1.5));
        const predicted = model.predictMany(rows);
        return Float64Array.of(...predicted, ...model.margins());
    },
};
for (const [estimator, length] of JSON.parse(readFileSync(`${folder}/lengths`))) {
    const bytes = all.subarray(at, (at += length));
    try {
        const model = m[estimator].load(bytes);
        const rows = new Float64Array(3 * model.features).map((_, k) => (k % 7) - 3.5);
        const scores = learn[estimator](model, rows), longer = model.save().length - bytes.length;
        told.push(["accepted", longer, createHash("sha256").update(scores).digest("hex")]);
    } catch (error) {
        const clear = (error instanceof TypeError || error instanceof RangeError) && error.message.endsWith(".");
        told.push([clear ? "refused" : "failed", String(error)]);
    }
}
new m.PocketClassifier({ features: 2 }).learn([1, 2], 0);
new m.PocketRegressor({ features: 2 }).learn([1, 2], 0);
writeFileSync(`${folder}/told`, JSON.stringify(told));
"""


def cases(times):
    """Kind, number, the estimator that is to read them, and bytes of each case."""
    known = list(models())
    fuzz.MODELS[:] = known  # of which some kinds take another one
    for kind, (change, number) in KINDS.items():
        for n in range(max(1, int(number * times))):
            rng = random.Random(f"web {kind} {n}")
            data = rng.choice(known)
            yield kind, n, estimator_of(data), change(data, rng)
    for n, data in enumerate(known):
        for estimator in ESTIMATORS:
            yield "unchanged", n, estimator, data


def estimator_of(data):
    return fuzz.unpack(data)[1]["estimator"]


def in_node(dist, files):
    """What the package does with each file, given the estimator that is to read it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "files").write_bytes(b"".join(data for _, data in files))
        (folder / "lengths").write_text(json.dumps([(estimator, len(data)) for estimator, data in files]))
        command = ["node", "--input-type=module", "-e", SCRIPT, str(Path(dist).resolve()), name]
        subprocess.run(command, check=True, timeout=3000)
        return json.loads((folder / "told").read_text())


def in_python(estimator, data):
    """The same here."""
    try:
        model = ESTIMATORS[estimator].from_bytes(data)
    except pk.ModelFileError as error:
        return ["refused", str(error)]
    rows = np.array([k % 7 - 3.5 for k in range(3 * model.n_features_in_)]).reshape(3, -1)
    model.set_params(n_jobs=None)  # which may be anything
    if estimator == "PocketRegressor":
        model.partial_fit(rows, np.full((3, model.n_outputs_), 1.5))
        scores = np.concatenate([model.predict(rows), model.margins()], axis=None)
    else:
        coding = model._coding
        label = coding.classes[np.argmin(coding.places)]
        if model.class_weight is None:
            model.partial_fit(rows, np.array([label] * 3, dtype=coding.classes.dtype))
        scores = raw_scores(model, rows)
    # No address of 32 bits has such a number: these learners do not use it, but files of others do.
    kind = "too large" if model._recipe.reservoir >= 2**32 else "accepted"
    return [kind, 0, hashlib.sha256(scores.tobytes()).hexdigest()]


def compared(dist, times):
    """How often both accepted a file or refused it, and the cases in which they differ."""
    some = list(cases(times))
    counts, differences = Counter(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names of columns
        told = in_node(dist, [case[2:] for case in some])
        for (kind, number, estimator, data), theirs in zip(some, told, strict=True):
            mine = in_python(estimator, data)
            counts[theirs[0], mine[0]] += 1
            same = mine == theirs if mine[0] == "accepted" else theirs[0] == "refused"
            if not same:
                differences.append((kind, number, estimator, theirs, mine))
    return counts, differences


if __name__ == "__main__":
    counts, differences = compared(sys.argv[1], float(sys.argv[2]))
    print(*counts.items(), *differences[:20], sep="\n")
