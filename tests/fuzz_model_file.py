"""Mutated model files, thousands of them. Each is refused with a ModelFileError or gives a model that works.

Run by test_fuzz.py in a process with little memory: `python fuzz_model_file.py JOURNAL [TIMES]`, which does TIMES as
many cases. The journal holds the case at work, so that a crash can be told; `python fuzz_model_file.py - KIND NUMBER`
repeats one case.
"""

import base64
import hashlib
import json
import random
import signal
import struct
import sys
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
from safetensors.numpy import save as save_safetensors
from scipy import sparse

from discover import ESTIMATORS, REGRESSORS, small
from pocketkernel import Gaussian, Laplacian, Linear, ModelFileError, Polynomial, _core, learners, model_file, river
from pocketkernel.learners import plausible

MOST_MEMORY = 2**28  # bytes beyond what the process has at the start
LONGEST = 20.0  # seconds for one case
HEADER = struct.Struct("=IIQQQ")  # state.hpp: magic, version, model, size, checksum
MASK = 2**64 - 1
NOT_FINITE = "accepted, not finite"


def rows(d, n=60):
    """Some rows of d columns, at most three of them not zero; repeats and a zero row among them."""
    rng = np.random.default_rng(5)
    pool = np.zeros((25, d))
    for row in pool[1:]:
        row[rng.choice(d, size=min(d, 3), replace=False)] = rng.normal(size=min(d, 3))
    X = pool[rng.integers(25, size=n)]
    return X, np.where((X**2).sum(axis=1) > 2, 1, -1)


def make(class_, dtype, width=3, **given):
    X, y = rows(width)
    model = small(class_, dtype=dtype, **given)
    if "n_classes" in given:  # labels that arrive in another order than theirs
        return model.partial_fit(X[:1], ["z"]).partial_fit(X, np.where(y > 0, "b", "a"))
    return model.partial_fit(X, y, classes=[-1, 1])


def make_regressor(class_, dtype, width=3, outputs=1, **given):
    X, y = rows(width)
    return small(class_, dtype=dtype, **given).partial_fit(X, targets(y, outputs))


def targets(y, outputs):
    return y * 1.5 + 3.0 if outputs == 1 else np.outer(y, np.arange(1.0, outputs + 1))


def variants(class_):
    """Estimators of different layouts."""
    yield {}
    names = class_._get_param_names()
    if "budget" in names:  # learners that store rows take every kernel, and use each row's norms
        kernels = [Gaussian(1.0), Laplacian(2.0), Polynomial(3), Linear()]
        yield {"kernels": kernels, "budget": 9, "width": 18}  # wide enough for rows to count as sparse
    if "storage" in names:
        yield {"storage": "float16", "width": 5}
    if "memory" in names and class_._budget_name not in names:
        yield {"memory": "2KiB"}  # too little for any frequency
        yield {"memory": "16KiB", "width": 70}
    if "reservoir" in names:
        yield {"budget": 4, "reservoir": 1, "horizon": 1.0}
    yield {"class_weight": {-1: 2.0, 1: 0.5}, "epochs": 3}
    if "n_classes" in names:
        yield {"class_weight": "balanced", "n_classes": 4}


MODELS = [
    make(class_, dtype, **given).to_bytes()
    for class_ in ESTIMATORS
    for given in variants(class_)
    for dtype in (("float32",) if "storage" in given else ("float32", "float64"))
]


def make_river(class_):
    """A stream with names, labels and collisions."""
    model = river.KernelClassifier(small(class_, random_state=None), seed=1, width=3)
    for row, y in zip(*rows(4), strict=True):
        model.learn_one(dict(zip("abcd", row.tolist(), strict=True)), "no" if y < 0 else "yes")
    return model.to_bytes()


MODELS += [make_river(class_) for class_ in ESTIMATORS]
MODELS += [
    make_regressor(class_, dtype, **given).to_bytes()
    for class_ in REGRESSORS
    for given in (
        {},
        {"outputs": 3, "memory": "16KiB"},
        {"loss": "quantile", "quantile": 0.3, "width": 70, "memory": "16KiB"},
    )
    for dtype in ("float32", "float64")
]


def make_river_regressor(class_):
    """The same of numbers."""
    model = river.KernelRegressor(small(class_, random_state=None), seed=1, width=3)
    for row, y in zip(*rows(4), strict=True):
        model.learn_one(dict(zip("abcd", row.tolist(), strict=True)), float(y))
    return model.to_bytes()


MODELS += [make_river_regressor(class_) for class_ in REGRESSORS]


def load(data):
    contents = model_file.decode(data, plausible)
    if contents.model.get("extra"):
        stream = river.restored(*learners.restored(contents))
        stream.learner_.set_params(n_jobs=None)
        label = 0.5 if type(stream.learner_) in REGRESSORS else next(iter(stream._labels.places), True)
        for x in ({"a": 1.0, "d": 2.0}, {"new": 0.5}):
            stream.predict_one(x)
            stream.learn_one(x, label)
        return stream.learner_
    name = contents.model.get("estimator")
    class_ = next((c for c in ESTIMATORS + REGRESSORS if c.__name__ == name), ESTIMATORS[0])
    return class_.from_bytes(data)


def largest_value(model):
    """The largest number that a row may hold."""
    if model._recipe.storage == "float16":
        return 65504.0
    return 1e70 if model._recipe.doubles else 1e18


def use(model):
    """Everything that a model is for. What comes out may be nonsense; it must come out, and be numbers.

    Rows are scored and learned: plain ones, the largest that there may be, and some of large weight.
    """
    model.set_params(n_jobs=None)  # a wrong one is refused by name when a block is scored
    X, signs = rows(model.n_features_in_, 24)
    if type(model) in REGRESSORS:
        y, score = targets(signs, model.n_outputs_), model.predict
    else:
        y, score = model.classes_[(signs > 0).astype(int) % len(model.classes_)], model.decision_function
    huge = np.clip(X * (largest_value(model) / 2), -largest_value(model), largest_value(model))
    weights = np.where(np.arange(24) % 7 == 3, 1e9, 1.0)
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names of columns, NaN in arithmetic
        for block, weight in ((sparse.csr_matrix(X), None), (X + 0.1, None), (huge, None), (X - 0.1, weights)):
            scores.append(score(block))
            scores.append(model.predict_then_learn(block, y, sample_weight=weight))
            scores.append(score(block))
            if type(model) in REGRESSORS:
                model.predict_then_learn(block, y * 1e69)
                scores.extend(np.moveaxis(model.predict_interval(block), -1, 0))
        model.predict(X[:2])
        model.diagnostics_, model.kernel_weights_, model.nbytes, model.get_params()
        with suppress(OverflowError):  # it has diverged
            model._core.save()
    return bool(np.all(np.isfinite(scores)))


# ---- files as bytes -------------------------------------------------------------------------------------------------


def places(data, rng):
    """A place in the file, often one where something begins or ends."""
    end = 8 + int.from_bytes(data[:8], "little")
    edges = [0, 1, 7, 8, 9, 16, 48, end - 1, end, end + 1, end + 8, end + HEADER.size, len(data) - 1, len(data)]
    return min(rng.choice([rng.choice(edges), rng.randrange(end), rng.randrange(len(data))]), len(data) - 1)


def truncate(data, rng):
    return data[: places(data, rng)]


def drop_the_front(data, rng):
    return data[1 + places(data, rng) :]


def flip(data, rng):
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        changed[places(data, rng)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def insert(data, rng):
    at = places(data, rng)
    return data[:at] + rng.choice([b" ", b"\0", b'"', b"{", rng.randbytes(rng.randint(1, 40))]) + data[at:]


def delete(data, rng):
    at = places(data, rng)
    return data[:at] + data[at + rng.choice([1, 2, 8, 100]) :]


def overwrite(data, rng):
    at = places(data, rng)
    piece = rng.choice([b"\0", b"\xff", b"\0" * 64, b"\xff" * 64, b"NaN", rng.randbytes(rng.randint(1, 64))])
    return (data[:at] + piece + data[at + len(piece) :])[: len(data)]


def swap_blocks(data, rng):
    a, b = sorted((places(data, rng), places(data, rng)))
    size = rng.choice([1, 8, 64, 256])
    return data[:a] + data[b : b + size] + data[a + size : b] + data[a : a + size] + data[b + size :]


def lie_about_the_header(data, rng):
    true = int.from_bytes(data[:8], "little")
    lie = rng.choice([0, 1, true - 8, true - 1, true + 1, true + 8, len(data), len(data) - 8, 2**25, 2**31, 2**63, MASK,
                      rng.getrandbits(64), rng.randrange(2 * len(data))])  # fmt: skip
    return lie.to_bytes(8, "little") + data[8:]


def append(data, rng):
    return data + rng.choice([b"\0", b" ", data, rng.randbytes(rng.randint(1, 1000))])


def splice(data, rng):
    other = rng.choice(MODELS)
    return data[: places(data, rng)] + other[places(other, rng) :]


def garbage(data, rng):
    n = rng.choice([1, 7, 8, 9, 100, 5000])
    head = rng.choice([b"", data[:8], data[:60], (n - 8).to_bytes(8, "little", signed=True)])
    return head + rng.choice([rng.randbytes(n), b"{" * n, b"\0" * n, b'{"__metadata__":' + b"[" * n])


# ---- files whose checksums are right --------------------------------------------------------------------------------


def unpack(data):
    end = 8 + int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8:end])["__metadata__"]
    return metadata, json.loads(metadata["model"]), data[end:]


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def pack(metadata, text, state):
    """As model_file does it, from the description of the format."""
    metadata = {k: v for k, v in metadata.items() if k != "sha256"} | {"model": text}
    metadata["sha256"] = hashlib.sha256(canonical(metadata).encode() + state).hexdigest()
    tensor = {"dtype": "U8", "shape": [len(state)], "data_offsets": [0, len(state)]}
    header = canonical({"__metadata__": metadata, "state": tensor}).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + state


HOSTILE = [
    None, True, False, 0, 1, -1, 2, 3, 5, 64, 10**6, 10**7, 2**31, 2**32 - 1, 2**53, 2**62, 2**63, 2**64 - 1,
    0.0, -0.0, 0.5, 1.0, -1.0, 1e-320, 1e-30, 1e18, 1e30, 1e308, -1e308, "", "a", "0", "null", "\ud800", "\0", "é" * 50,
    "m_omd_s", "raker", "linear", "Raker", "__class__", "float64", "hinge", "<U9999999", "|O", "|V8", ">f8", "<M8[D]",
    [], {}, [[]], [None], [0, 1], [1, 0], [0, 0], ["a", "b"], ["a", "b", "c"], [0.0, 1.0], [True, False],
    ["gaussian", 1.0], [["gaussian", 1.0]], [["gaussian"]], [["linear", 1]], [["polynomial", 65]], [["gaussian", -1.0]],
    [["gaussian", 1.0]] * 33, {"dtype": "<i8", "values": [1, 2]}, {"dtype": "<U9", "values": ["a", "b"]},
    {"dtype": "<i8", "values": [1, 2, 3]}, {"dtype": "|O", "values": ["a", "b"]}, {"river": {"columns": []}},
    {"": None},
]  # fmt: skip


def paths(value, here=()):
    yield here
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*here, key))


def replaced(value, path, new):
    if not path:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], new)
    return changed


def edit_json(data, rng):
    """One or two fields replaced, removed or added."""
    metadata, model, state = unpack(data)
    return pack(metadata, canonical(mutated(model, rng, HOSTILE)), state)


def mutated(value, rng, hostile):
    for _ in range(rng.choice([1, 1, 1, 2])):
        path = rng.choice(list(paths(value)))
        here = value
        for key in path[:-1]:
            here = here[key]
        way = rng.random()
        if path and way < 0.15 and isinstance(here, dict):
            here = {k: v for k, v in here.items() if k != path[-1]}
            value = replaced(value, path[:-1], here)
        elif path and way < 0.3 and isinstance(here, dict):
            value = replaced(value, path[:-1], here | {rng.choice(["new", "", "seed", "kernels"]): rng.choice(hostile)})
        else:
            value = replaced(value, path, rng.choice(hostile))
        if not isinstance(value, dict):
            break
    return value


BOMBS = [
    "[" * 100_000, '{"a":' * 100_000, "[" * 900 + "]" * 900, '{"extra":' + "[" * 400 + "]" * 400 + "}", "9" * 5000,
    '{"n_features":' + "9" * 5000 + "}", '{"n_features":1e999}', "NaN", '{"n_features":NaN}',
    '{"n_features":-Infinity}',
    '{"a":1,"a":2}', '{"a": 1}', '{"b":1,"a":2}', "", " ", "{}", "[]", '"', "null", "{}{}", '{"a":1}\n', "{'a':1}",
    '{"a":"\\ud800"}', '{"a":"\\u00e9"}', '{"a":"' + "x" * 10**6 + '"}', "[" + "0," * 200_000 + "0]", '{"a":1.0e5}',
    '{"a":00}', '{"a":+1}', '{"a":.5}', '{"a":-0}', "\x00", "\ufeff{}",
]  # fmt: skip


def bomb(data, rng):
    """Another text in the place of the model, or somewhere in it."""
    metadata, model, state = unpack(data)
    text = canonical(model)
    if rng.random() < 0.5:
        return pack(metadata, rng.choice(BOMBS), state)
    at = rng.randrange(len(text))
    return pack(metadata, text[:at] + rng.choice([*BOMBS, "NaN", "1e999", " "]) + text[at + rng.randint(0, 9) :], state)


def edit_metadata(data, rng):
    """Other metadata or tensors, written by the safetensors package."""
    metadata, model, state = unpack(data)
    text = canonical(model)
    metadata[rng.choice([*metadata, "new"])] = rng.choice(
        ["", "1", "2", "0", "-1", "999999999999", "pocketkernel", "٣", text]
    )
    way = rng.randrange(5)
    if way == 0:
        metadata.pop(rng.choice(list(metadata)))
    bytes_ = pack(metadata, text, state)
    if way in (0, 1):
        return bytes_
    metadata = unpack(bytes_)[0]
    numbers = np.frombuffer(state, dtype=np.uint8)
    tensors = [
        {"state": numbers}, {"state": numbers.view(np.uint32)}, {"state": numbers.reshape(-1, 8)}, {"other": numbers},
        {"state": numbers, "more": numbers[:8]}, {"state": numbers[:0]}, {},
    ][rng.randrange(7)]  # fmt: skip
    return save_safetensors(tensors, metadata=rng.choice([metadata, {}, None, {"format": "pt"}]))


# ---- states that the core's own checksum calls good -----------------------------------------------------------------


def digest(words):
    """FNV-1a over 64-bit words, as state.hpp has it."""
    value = 0xCBF29CE484222325
    for word in words:
        value = ((value ^ word) * 0x100000001B3) & MASK
        value ^= value >> 29
    return value


def bits(number):
    return struct.unpack("=Q", struct.pack("=d", number))[0]


FAMILIES = ["gaussian", "laplacian", "polynomial", "linear", "matern32"]
LOSSES = ["hinge", "logistic", "smooth_hinge"]


REVISIONS = {
    "pocket_classifier": [11],
    "pocket_regressor": [4],
    "raker": [2],
    "m_omd_s": [2],
    "multiclass_m_omd_s": [2],
}


def has_constants(recipe):
    """Whether the seed decides something that is not in the state: random frequencies, but for those in a block."""
    families = {kernel[0] for kernel in recipe["kernels"]}
    random_features = recipe["learner"] in ("raker", "pocket_classifier", "pocket_regressor")
    few = recipe["budget"] > 0 and recipe["features"] <= 256
    return random_features and few and "gaussian" in families and "laplacian" not in families


def model_digest(recipe):
    """state.hpp: everything that decides the layout or the course of a run."""
    kernels = [(FAMILIES.index(k[0]), bits(float((*k, 1.0)[1]))) for k in recipe["kernels"]]
    return digest([
        *recipe["learner"].encode(), 8 if recipe["doubles"] else 4,
        recipe["features"], recipe["classes"], recipe["budget"], len(kernels),
        *(word for kernel in kernels for word in kernel),
        LOSSES.index(recipe["loss"]), ["half", "restart", "oldest"].index(recipe["removal"]),
        ["full", "float16", "bfloat16"].index(recipe["storage"]),
        bits(recipe["step"]), bits(recipe["norm_bound"]), recipe["reservoir"], bits(recipe["horizon"]),
        bits(recipe["nu"]), bits(recipe["rate"]), bits(recipe["regularization"]),
        *([bits(recipe["quantile"])] if recipe["quantile"] else []),
        *REVISIONS.get(recipe["learner"], []), *([recipe["seed"]] if has_constants(recipe) else []),
    ])  # fmt: skip


def with_good_checksums(state, payload, recipe):
    magic, version, *_ = HEADER.unpack_from(state)
    padded = payload + b"\0" * (-len(payload) % 8)
    checksum = digest(struct.unpack(f"={len(padded) // 8}Q", padded))
    return HEADER.pack(magic, version, model_digest(recipe), len(payload), checksum) + payload


COUNTS = ("budget", "features", "reservoir", "seed")
REALS = ("step", "norm_bound", "horizon", "nu", "rate", "regularization", "quantile")


def edit_recipe(data, rng):
    """Random numbers in the recipe, and a state that says it belongs to them."""
    metadata, model, state = unpack(data)
    recipe = model["recipe"]
    for _ in range(rng.choice([1, 1, 2, 5])):
        if rng.random() < 0.4:
            name = rng.choice(COUNTS)
            recipe[name] = rng.choice([0, 1, recipe[name] + rng.choice([-1, 1, 8]), rng.randrange(100), 10**6, 10**7,
                                       2**32, MASK, rng.getrandbits(64)]) & MASK  # fmt: skip
        elif rng.random() < 0.8:
            recipe[rng.choice(REALS)] = rng.choice([0.0, -1.0, 1e-300, 1e-9, 0.3, 0.999, 7.0, 1e9, 1e18, 1e300,
                                                    rng.uniform(0, 2), rng.expovariate(1e-6)])  # fmt: skip
        else:
            recipe["kernels"] = [
                rng.choice([["gaussian", rng.uniform(0, 9)], ["laplacian", 10 ** rng.uniform(-35, 35)], ["linear"],
                            ["polynomial", rng.choice([1, 3, 64, 65, 2.5])]])
                for _ in range(rng.choice([0, 1, len(recipe["kernels"]), 5, 32, 33]))
            ]  # fmt: skip
    if rng.random() < 0.7:
        model["n_features"] = recipe["features"]
    return pack(metadata, canonical(model), with_good_checksums(state, state[HEADER.size :], recipe))


WORDS = [
    0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 31, 1000, 2**31, 2**32, 2**53, 2**63, MASK, MASK - 1,
    *map(bits, (float("nan"), float("inf"), -float("inf"), -1.0, 1.0, 0.5, 1e-320, 1e308, -1e308, 1e18, 0.0, -0.0)),
    0x7FC000007FC00000, 0x7F8000007F800000, 0x3F8000003F800000, 0x0000000100000001,
]  # fmt: skip
# Finite, but not for long: each alone in a double, or twice as a float.
EXTREMES = [
    *(bits(sign * 10.0**power) for power in (308, 300, 200, 155, 150, 100, 70, 40, 20, -300) for sign in (1, -1)),
    *(int.from_bytes(2 * struct.pack("=f", sign * x), sys.byteorder)
      for x in (3.4e38, 1e38, 1e30, 1e20, 1e15, 1e-38) for sign in (1, -1)),
]  # fmt: skip


def edit_state(data, rng):
    """Impossible contents of the state under good checksums."""
    metadata, model, state = unpack(data)
    payload = bytearray(state[HEADER.size :])
    words = len(payload) // 8
    way = rng.randrange(4)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 30])):
        # Counters and sizes lie at the front of the state or of a piece, which begin at multiples of 64 bytes.
        at = 8 * rng.choice([rng.randrange(words), rng.randrange(min(words, 64)), 8 * rng.randrange(words // 8)])
        if way == 0:
            payload[at + rng.randrange(8)] ^= 1 << rng.randrange(8)
        elif way == 1:
            payload[at : at + 8] = rng.randbytes(8)
        elif way == 2:
            source = 8 * rng.randrange(words)
            payload[at : at + 8] = payload[source : source + 8]
        else:
            payload[at : at + 8] = rng.choice(WORDS).to_bytes(8, sys.byteorder)
    return pack(metadata, canonical(model), with_good_checksums(state, bytes(payload), model["recipe"]))


def exaggerate_state(data, rng):
    """Numbers of the state made extreme, a few or a whole stretch, under good checksums."""
    metadata, model, state = unpack(data)
    payload = bytearray(state[HEADER.size :])
    words = len(payload) // 8
    numbers = [at for at in range(words) if any(payload[8 * at : 8 * at + 8])] or range(words)
    length = rng.choice([1, 1, 2, 8, 64])
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.choice([rng.choice(numbers), rng.randrange(words), 8 * rng.randrange(words // 8)])
        end = min(at + length, words)
        payload[8 * at : 8 * end] = rng.choice(EXTREMES).to_bytes(8, sys.byteorder) * (end - at)
    return pack(metadata, canonical(model), with_good_checksums(state, bytes(payload), model["recipe"]))


def fill_state(data, rng):
    """One word everywhere, or in a whole stretch."""
    metadata, model, state = unpack(data)
    payload = state[HEADER.size :]
    a, b = sorted(8 * rng.randrange(len(payload) // 8 + 1) for _ in range(2))
    a, b = rng.choice([(a, b), (0, b), (a, len(payload) // 8 * 8), (a, min(a + 64, len(payload) // 8 * 8))])
    filled = payload[:a] + rng.choice(WORDS).to_bytes(8, sys.byteorder) * ((b - a) // 8) + payload[b:]
    return pack(metadata, canonical(model), with_good_checksums(state, filled, model["recipe"]))


RAW = [truncate, drop_the_front, flip, insert, delete, overwrite, swap_blocks, lie_about_the_header, append, splice,
       garbage]  # fmt: skip
KINDS = {kind.__name__: (kind, 400) for kind in RAW} | {
    edit_json.__name__: (edit_json, 3000),
    bomb.__name__: (bomb, 600),
    edit_metadata.__name__: (edit_metadata, 600),
    edit_recipe.__name__: (edit_recipe, 2000),
    edit_state.__name__: (edit_state, 2500),
    fill_state.__name__: (fill_state, 600),
    exaggerate_state.__name__: (exaggerate_state, 2500),
}


def case(kind, number):
    rng = random.Random(f"{kind} {number}")
    data = rng.choice(MODELS)
    return data, KINDS[kind][0](data, rng)


def judge(kind, number):
    """What became of a case: refused, accepted, accepted with scores that are no numbers, or unchanged."""
    changed = case(kind, number)[1]
    if changed in MODELS:  # it may have become another one, whole
        return "unchanged"
    try:
        model = load(changed)
    except ModelFileError as error:
        assert str(error).endswith("."), error
        assert len(str(error)) < 400, error
        return "refused"
    if KINDS[kind][0] in RAW:
        raise AssertionError("a change of the bytes went unnoticed")
    return "accepted" if use(model) else NOT_FINITE


def self_check():
    """The helpers above write what the library writes."""
    for data in MODELS:
        metadata, model, state = unpack(data)
        assert with_good_checksums(state, state[HEADER.size :], model["recipe"]) == state
        assert pack(metadata, canonical(model), state) == data
        assert use(load(data))


def limit_memory():
    import resource  # not everywhere

    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_MEMORY, size + MOST_MEMORY))


def main(journal, kinds, judge, times=1):
    """Go through the cases of each kind; what became of them is printed as JSON."""
    limit_memory()
    counts = Counter()
    with open(journal, "wb", buffering=0) as file:
        for kind, (_, cases) in kinds.items():
            for number in range(cases * times):
                file.seek(0)
                file.write(f"{kind} {number}".ljust(60).encode())
                signal.setitimer(signal.ITIMER_REAL, LONGEST)  # ends the process
                outcome = judge(kind, number)
                counts[kind, outcome] += 1
                if outcome == NOT_FINITE:
                    print(kind, number, outcome, file=sys.stderr)
    signal.setitimer(signal.ITIMER_REAL, 0)
    json.dump([[kind, outcome, count] for (kind, outcome), count in counts.items()], sys.stdout)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        self_check()
        main(sys.argv[1], KINDS, judge, *map(int, sys.argv[2:]))
    else:
        print(base64.b64encode(case(sys.argv[2], int(sys.argv[3]))[1]).decode())
        print(judge(sys.argv[2], int(sys.argv[3])), _core.levels())
