"""Mutated fleets in folders and files: each is refused with one sentence, or works.

Run by test_fuzz.py as fuzz_model_file.py is: `python fuzz_fleet.py JOURNAL [TIMES]`, or with `- KIND NUMBER`.
"""

import json
import random
import shutil
import sqlite3
import sys
import tempfile
import warnings
from hashlib import blake2b
from pathlib import Path

import numpy as np
from scipy import sparse

from fuzz_model_file import HOSTILE, NOT_FINITE, RAW, WORDS, canonical, main, mutated, pack, unpack
from pocketkernel import MOMDS, ModelFileError, MulticlassMOMDS, PocketClassifier, PocketRegressor
from pocketkernel.fleet import Fleet, FolderStore, _log
from pocketkernel.fleet.feed import Counts

HERE = Path(tempfile.mkdtemp())
FOLDER = HERE / "fleet"
FILES = ("fleet.pk", "snapshot", "log-1", "archive.sqlite")


def stream(kind, rows=60, classes=2):
    rng = np.random.default_rng(7)
    keys = rng.integers(0, 9, rows)
    names = {"int": keys.tolist(), "str": [f"é{key}" for key in keys], "bytes": [bytes([key, 255]) for key in keys]}
    X = rng.normal(size=(rows, 3)) * (rng.random((rows, 3)) < 0.8)
    return names[kind], X, (X[:, 0] > 0) + (X[:, 1] > 1) * (classes - 2)


MAKERS = {  # learner, labels, keys, parameters
    "pocket": (PocketClassifier(memory="4KiB", random_state=0), [0, 1], "str", {"max_keys": 4, "base": "shared"}),
    "momds": (MOMDS(budget=4, random_state=0), [0, 1], "int", {"max_keys": 3}),
    "classes": (MulticlassMOMDS(budget=3, random_state=0), [0, 1, 2], "bytes", {}),
    "numbers": (PocketRegressor(memory="8KiB", random_state=0), None, "int", {"max_keys": 5}),
}


def made(name):
    """The files of a fleet with a snapshot, a log of rows, a set and a removed model, and an archive; and an export."""
    learner, classes, kind, given = MAKERS[name]
    keys, X, y = stream(kind, classes=3 if name == "classes" else 2)
    shutil.rmtree(FOLDER, ignore_errors=True)
    with Fleet(learner, features=3, classes=classes, store=FolderStore(FOLDER, sync_every=10), **given) as fleet:
        fleet.partial_fit(keys[:30], X[:30], y[:30], offset=vars(Counts()))
        fleet.snapshot()
        rows = sparse.csr_matrix(X) if name == "classes" else X
        for at in (30, 40) if name != "numbers" else ():  # of which the offset is that of the snapshot
            fleet.partial_fit(
                keys[at : at + 10], rows[at : at + 10], y[at : at + 10], np.ones(10) if at == 40 else None
            )
        fleet[keys[0]] = fleet[keys[49]]
        del fleet[keys[49]]
        fleet.commit()
        fleet.export(HERE / "export")
    files = {file: (FOLDER / file).read_bytes() for file in FILES if (FOLDER / file).exists()}
    return files, (HERE / "export").read_bytes()


FLEETS = {name: made(name) for name in MAKERS}


def use(fleet, name):
    """Everything that a fleet is for; whether all its answers are numbers."""
    if fleet.offset is not None:
        Counts.of(fleet.offset)
    known = list(fleet)
    keys, X, y = stream(fleet.key_kind or MAKERS[name][2], 24, 3 if name == "classes" else 2)
    score = fleet.predict if name == "numbers" else fleet.decision_function
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = [score(keys, X)]
        scores.append(fleet.predict_then_learn(keys, X, y))
        scores.append(fleet.predict_then_learn(keys, sparse.csr_matrix(X * 1e6), y, np.full(24, 1e9)))
        scores.append(score(keys, X))
        for key in [*known[:2], keys[0]]:
            if key in fleet:
                fleet[key].predict(X[:2])
        fleet.tally(), fleet.nbytes, len(fleet), fleet.clock
        fleet.commit()
    return all(np.all(np.isfinite(some)) for some in scores)


# ---- files ----------------------------------------------------------------------------------------------------------


def raw_export(files, export, rng):
    """Bytes of an exported fleet."""
    return files, rng.choice(RAW)(export, rng)


def raw_file(files, export, rng):
    """Bytes of a file in the folder, but for the log, whose last record may be incomplete."""
    name = rng.choice([name for name in files if not name.startswith("log")])
    return files | {name: rng.choice(RAW)(files[name], rng)}, None


def edit_configuration(files, export, rng):
    """Fields of the configuration, under good checksums."""
    metadata, model, state = unpack(files["fleet.pk"])
    if rng.random() < 0.5:
        model["extra"] = mutated(model["extra"], rng, [*HOSTILE, "model", "shared", 4, {"fleet": {}}])
    else:
        model = mutated(model, rng, HOSTILE)
    return files | {"fleet.pk": pack(metadata, canonical(model), state)}, None


def digested(data):
    return data + blake2b(data, digest_size=32).digest()


def edit_head(files, export, rng):
    """The head of the snapshot."""
    data = files["snapshot"][:-32]
    end = 8 + int.from_bytes(data[4:8], "little")
    head = canonical(mutated(json.loads(data[8:end]), rng, [*HOSTILE, "int", "str", "bytes", 8, 30, 31])).encode()
    return files | {"snapshot": digested(data[:4] + len(head).to_bytes(4, "little") + head + data[end:])}, None


def edit_snapshot(files, export, rng):
    """Keys, counters and states of the snapshot."""
    data = bytearray(files["snapshot"][:-32])
    start = 8 + int.from_bytes(data[4:8], "little")
    edited(data, start, rng)
    return files | {"snapshot": digested(bytes(data))}, None


def edited(data, start, rng):
    """Some words after `start` changed in place."""
    for _ in range(rng.choice([1, 1, 2, 30])):
        at = rng.choice([rng.randrange(start, len(data) - 8), rng.randrange(start, min(len(data) - 8, start + 160))])
        way = rng.randrange(3)
        if way == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            data[at : at + 8] = rng.choice(WORDS).to_bytes(8, sys.byteorder)
        else:
            data[at : at + 8] = rng.randbytes(8)


def edit_log(files, export, rng):
    """Pieces of the log: their heads, their bytes, their order."""
    records = [payload for _, payload in _log.records(files["log-1"])]
    at = rng.randrange(len(records))
    parts = []
    payload = records[at]
    while payload:
        size = int.from_bytes(payload[:4], "little")
        head = json.loads(payload[4 : 4 + size])
        total = 4 + size + sum(head["blobs"])
        parts.append([head, payload[4 + size : total]])
        payload = payload[total:]
    part = rng.choice(parts)
    way = rng.randrange(5)
    if way < 2:
        part[0] = mutated(part[0], rng, [*HOSTILE, "learn", "set", "del", "int", "str", "<f4", [["<f8", [10, 3]]], 10])
    elif way < 4 and len(part[1]) > 8:
        body = bytearray(part[1])
        edited(body, 0, rng)
        part[1] = bytes(body)
    else:
        parts = rng.choices(parts, k=rng.choice([1, 2, 3]))
    texts = [(canonical(head).encode(), body) for head, body in parts]
    records[at] = b"".join(len(text).to_bytes(4, "little") + text + body for text, body in texts)
    if rng.random() < 0.2:
        rng.shuffle(records)
    return files | {"log-1": b"".join(map(_log.record_of, records))}, None


def edit_archive(files, export, rng):
    """Rows and tables of the archive."""
    if "archive.sqlite" not in files:
        return files, export
    path = HERE / "archive"
    path.write_bytes(files["archive.sqlite"])
    base = sqlite3.connect(path, isolation_level=None)
    rows = base.execute("SELECT key, clock, state FROM models").fetchall()
    key, clock, state = rng.choice(rows)
    body = bytearray(state or bytes(64))
    edited(body, 0, rng)
    odd = [bytes(body), bytes(body), state[:-1], state * 2, b"x", "text", 7, 1.5, None, "9" * 1000]
    column = rng.choice(["state", "state", "state", "key", "clock"])
    value = rng.choice(odd) if column == "state" else rng.choice([-1, 2**62, None, "text", b"", b"s\xff", 1.5])
    statements = [
        (f"UPDATE models SET {column} = ? WHERE key = ? AND clock = ?", (value, key, clock)),
        (f"UPDATE models SET {column} = ?", (value,)),
        ("DROP TABLE models", ()),
        ("ALTER TABLE models RENAME COLUMN state TO other", ()),
        ("CREATE VIEW other AS SELECT 1", ()),
    ]
    try:
        base.execute(*rng.choices(statements, weights=[6, 2, 1, 1, 1])[0])
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error:
        pass  # one that SQLite itself refuses
    base.close()
    return files | {"archive.sqlite": path.read_bytes()}, None


KINDS = {
    kind.__name__: (kind, count)
    for kind, count in [
        (raw_export, 300), (raw_file, 500), (edit_configuration, 500), (edit_head, 500), (edit_snapshot, 500),
        (edit_log, 900), (edit_archive, 500),
    ]
}  # fmt: skip


def case(kind, number):
    rng = random.Random(f"{kind} {number}")
    name = rng.choice(list(FLEETS))
    return name, *KINDS[kind][0](*FLEETS[name], rng)


def load(files, export):
    if export is not None:
        (HERE / "export").write_bytes(export)
        return Fleet.load(HERE / "export")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for name, data in files.items():
        (FOLDER / name).write_bytes(data)
    return Fleet.load(FOLDER)


def judge(kind, number):
    """What became of a case: refused, accepted, or unchanged."""
    name, files, export = case(kind, number)
    if (files, export) in [(FLEETS[name][0], None), FLEETS[name]]:
        return "unchanged"
    try:
        with load(files, export) as fleet:
            assert kind != "raw_export", "a change of the bytes went unnoticed"
            return "accepted" if use(fleet, name) else NOT_FINITE
    except ModelFileError as error:
        assert len(str(error)) < 600, error
        assert "\n" not in str(error), error
        return "refused"


def self_check():
    """What is written works."""
    for name, (files, export) in FLEETS.items():
        for some in (None, export):
            with load(files, some) as fleet:
                assert use(fleet, name)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        self_check()
        main(sys.argv[1], KINDS, judge, *map(int, sys.argv[2:]))
    else:
        print(judge(sys.argv[2], int(sys.argv[3])))
