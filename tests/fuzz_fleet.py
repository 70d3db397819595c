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
from contextlib import closing
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path

import numpy as np
from scipy import sparse

from fuzz_model_file import HOSTILE, NOT_FINITE, RAW, WORDS, canonical, main, mutated, pack, unpack
from pocketkernel import MOMDS, ModelFileError, MulticlassMOMDS, PocketClassifier, PocketRegressor
from pocketkernel.fleet import Fleet, FolderStore
from pocketkernel.fleet._database import DIGEST, FORMAT, Head, digest_of
from pocketkernel.fleet._store import Slab
from pocketkernel.fleet.feed import Counts

HERE = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))  # a disk would be synced often
FOLDER = HERE / "fleet"
FILE = "fleet.sqlite"


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
    """A fleet with slabs, a log of rows, a set and a removed model, and evicted ones; and an export."""
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
    return (FOLDER / FILE).read_bytes(), (HERE / "export").read_bytes()


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


def raw_export(stored, export, rng):
    """Bytes of an exported fleet."""
    return stored, rng.choice(RAW)(export, rng)


def raw_file(stored, export, rng):
    """Bytes of the file."""
    return rng.choice(RAW)(stored, rng), None


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


class Rows:
    """The rows of a file, written back under good digests."""

    def __init__(self, stored):
        self.path = Path(tempfile.mkdtemp(dir=HERE)) / "rows"
        self.path.write_bytes(stored)
        self.base = sqlite3.connect(self.path, isolation_level=None)
        meta = dict(self.base.execute("SELECT name, value FROM meta").fetchall())
        self.configuration = meta["configuration"]
        self.head = asdict(Head.decoded(meta["head"], self.configuration))
        self.log = [list(row) for row in self.base.execute("SELECT seq, base, record FROM log ORDER BY seq")]
        self.slabs = {
            number: [seq, clock, body]
            for number, seq, clock, body in self.base.execute(
                "SELECT s.id, seq, clock, b.body FROM slab_seq s JOIN slab b ON b.id = s.id"
            )
        }
        self.archive = dict(self.base.execute("SELECT key, state FROM archive").fetchall())

    def written(self, *statements):
        total, chain = 0, bytes.fromhex(self.head["start_chain"])
        for table in ("log", "slab", "slab_seq", "archive"):
            self.base.execute(f"DELETE FROM {table}")
        for seq, base, record in self.log:
            chain = digest_of(chain, b"%d" % seq, base or b"", record)
            self.base.execute("INSERT INTO log VALUES (?, ?, ?, ?)", (seq, chain, base, record))
        for number, (seq, clock, body) in self.slabs.items():
            slab = Slab.of(number, seq, clock, blake2b(body, digest_size=DIGEST).digest())
            total += int.from_bytes(slab.digest, "big")
            self.base.execute("INSERT INTO slab VALUES (?, ?)", (number, body))
            self.base.execute("INSERT INTO slab_seq VALUES (?, ?, ?, ?, ?)", (number, *slab))
        for key, state in self.archive.items():
            digest = digest_of(b"archive", key, state)
            total += int.from_bytes(digest, "big")
            self.base.execute("INSERT INTO archive VALUES (?, ?, ?)", (key, digest, state))
        if self.log:
            self.head["chain"] = chain.hex()
        self.head["sum"] = f"{total % 2 ** (8 * DIGEST):032x}"
        text = canonical({"format": FORMAT} | self.head).encode()
        head = digest_of(b"head", self.configuration, text) + text
        rows = [("configuration", self.configuration), ("head", head)]
        self.base.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)
        try:
            for statement in statements:
                self.base.execute(*statement)
        except sqlite3.Error:
            pass  # one that SQLite itself refuses
        self.base.close()  # which copies the write-ahead log
        data = self.path.read_bytes()
        shutil.rmtree(self.path.parent)
        return data, None


def edit_configuration(stored, export, rng):
    """Fields of the configuration."""
    rows = Rows(stored)
    metadata, model, state = unpack(rows.configuration)
    if rng.random() < 0.5:
        model["extra"] = mutated(model["extra"], rng, [*HOSTILE, "model", "shared", 4, {"fleet": {}}])
    else:
        model = mutated(model, rng, HOSTILE)
    rows.configuration = pack(metadata, canonical(model), state)
    return rows.written()


def edit_head(stored, export, rng):
    """Fields of the head."""
    rows = Rows(stored)
    changed = mutated(rows.head, rng, [*HOSTILE, "int", "str", "bytes", 8, 30, 31])
    if not isinstance(changed, dict):
        changed = {"seq": changed}
    rows.head = rows.head | changed if rng.random() < 0.5 else {"start_chain": "00" * DIGEST} | changed
    if not isinstance(rows.head["start_chain"], str) or len(rows.head["start_chain"]) != 2 * DIGEST:
        rows.log = []
        rows.head = rows.head | {"start_chain": "00" * DIGEST}
    return rows.written()


def parts_of(record):
    """The pieces of a record: their heads, and their bytes."""
    parts = []
    while record:
        size = int.from_bytes(record[:4], "little")
        head = json.loads(record[4 : 4 + size])
        total = 4 + size + sum(head["sizes"])
        parts.append([head, record[4 + size : total]])
        record = record[total:]
    return parts


def joined(parts):
    texts = [(canonical(head).encode(), body) for head, body in parts]
    return b"".join(len(text).to_bytes(4, "little") + text + body for text, body in texts)


ODD = ["learn", "moves", "states", "int", "str", ["<f8", 10, 3], ["<i4", 10], None, 10]


def changed_pieces(record, rng):
    parts = parts_of(record)
    part = rng.choice(parts)
    way = rng.randrange(5)
    if way < 2:
        part[0] = mutated(part[0], rng, [*HOSTILE, *ODD])
    elif way < 4 and len(part[1]) > 8:
        body = bytearray(part[1])
        edited(body, 0, rng)
        part[1] = bytes(body)
    else:
        parts = rng.choices(parts, k=rng.choice([1, 2, 3]))
    return joined(parts)


def edit_log(stored, export, rng):
    """Pieces of the log: their heads, their bytes, their order."""
    rows = Rows(stored)
    if not rows.log:
        return stored, None
    row = rng.choice(rows.log)
    row[2] = changed_pieces(row[2], rng)
    if row[1] and rng.random() < 0.3:
        body = bytearray(row[1])
        edited(body, 0, rng)
        row[1] = bytes(body)
    if rng.random() < 0.2:
        records = [row[2] for row in rows.log]
        rng.shuffle(records)
        for row, record in zip(rows.log, records, strict=True):
            row[2] = record
    return rows.written()


def edit_slab(stored, export, rng):
    """Keys, counters and states of a slab."""
    rows = Rows(stored)
    slab = rng.choice(list(rows.slabs.values()))
    way = rng.randrange(4)
    if way == 0:
        slab[rng.randrange(2)] = rng.choice([0, 1, 2, 3, 10, 60, 2**40])
    else:
        slab[2] = changed_pieces(slab[2], rng)
    return rows.written()


def edit_archive(stored, export, rng):
    """Evicted models, and rows and tables of any kind."""
    rows = Rows(stored)
    if not rows.archive:
        return stored, None
    key, state = rng.choice(list(rows.archive.items()))
    body = bytearray(state)
    edited(body, 0, rng)
    if rng.random() < 0.5:
        rows.archive[key] = rng.choice([bytes(body), bytes(body), state[:-1], state * 2, b"x"])
        return rows.written()
    if rng.random() < 0.3:
        del rows.archive[key]
        rows.archive[rng.choice([b"", b"s\xff", b"i", b"x", b"i" + bytes(9)])] = state
        return rows.written()
    table = rng.choice(["archive", "log", "slab", "slab_seq", "meta"])
    column = {"archive": "state", "log": "record", "slab": "body", "slab_seq": "clock", "meta": "value"}[table]
    value = rng.choice(["text", 7, 1.5, b"x", "9" * 1000])
    statements = [
        (f"UPDATE {table} SET {column} = ?", (value,)),
        (f"DROP TABLE {table}",),
        (f"DELETE FROM {table}",),
        (f"ALTER TABLE {table} RENAME COLUMN {column} TO other",),
        ("CREATE VIEW other AS SELECT 1",),
    ]
    return rows.written(rng.choice(statements))


KINDS = {
    kind.__name__: (kind, count)
    for kind, count in [
        (raw_export, 300), (raw_file, 500), (edit_configuration, 500), (edit_head, 500), (edit_slab, 700),
        (edit_log, 900), (edit_archive, 500),
    ]
}  # fmt: skip


def case(kind, number):
    rng = random.Random(f"{kind} {number}")
    name = rng.choice(list(FLEETS))
    return name, *KINDS[kind][0](*FLEETS[name], rng)


def load(stored, export):
    if export is not None:
        (HERE / "export").write_bytes(export)
        return Fleet.load(HERE / "export")
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    (FOLDER / FILE).write_bytes(stored)
    return Fleet.load(FOLDER)


def judge(kind, number):
    """What became of a case: refused, accepted, or unchanged."""
    name, stored, export = case(kind, number)
    if (stored, export) in [(FLEETS[name][0], None), FLEETS[name]]:
        return "unchanged"
    try:
        with closing(load(stored, export)) as fleet:
            assert kind != "raw_export", "a change of the bytes went unnoticed"
            return "accepted" if use(fleet, name) else NOT_FINITE
    except ModelFileError as error:
        assert len(str(error)) < 900, error
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
