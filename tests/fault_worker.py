"""Feeds a fleet in children, of which each has one fault in its operations on files; run by test_fleet_store.py.

LD_PRELOAD=faults.so python fault_worker.py FOLDER EVERY

Prints how many of each kind were tried. EVERY: every so many of the operations.
"""

import ctypes
import os
import shutil
import signal
import sys
import traceback
from pathlib import Path

import numpy as np

from pocketkernel import PocketClassifier
from pocketkernel.fleet import Fleet, FolderStore

KILLED, TORN, FULL, BROKEN = 1, 2, 3, 4
NAMES = {KILLED: "killed", TORN: "killed in a write", FULL: "disk full", BROKEN: "I/O error"}
faults = ctypes.CDLL(None)
ROWS, BLOCK = 300, 20
rng = np.random.default_rng(0)
KEYS, X = np.minimum(rng.zipf(1.3, ROWS), 15), rng.normal(size=(ROWS, 3))
Y = ((X[:, 0] > 0) ^ (KEYS % 2 == 0)).astype(int)


def new(folder=None, **given):
    store = None if folder is None else FolderStore(folder, sync_every=BLOCK, log_bytes=4000)
    learner = PocketClassifier(memory="4KiB", random_state=0)
    return Fleet(learner, features=3, classes=[0, 1], store=store, n_jobs=1, **given)


def feed(fleet, first, told=None):
    for at in range(first, ROWS, BLOCK):
        some = slice(at, at + BLOCK)
        fleet.partial_fit(KEYS[some], X[some], Y[some], offset=some.stop)
        if told is not None:
            os.write(told, bytes([some.stop // BLOCK]))  # acknowledged, since each call commits
        if at % 100 == 0:
            fleet.snapshot()


unlimited = new()
unlimited.partial_fit(KEYS, X, Y)
EVERY_KEY = set(KEYS.tolist())
MODELS = {key: unlimited[key].to_bytes() for key in EVERY_KEY}


def expected(rows):
    fleet = new()
    fleet.partial_fit(KEYS[:rows], X[:rows], Y[:rows])
    return {key: fleet[key].to_bytes() for key in fleet}


STATES = {rows: expected(rows) for rows in range(BLOCK, ROWS + 1, BLOCK)} | {0: {}}


def models(fleet):
    return {key: fleet[key].to_bytes() for key in EVERY_KEY if key in fleet}


def child(operation, action, lasting, folder, told):
    """Feed until a fault; after an error go on, and compare what is in memory with what is stored."""
    faults.arm(operation, action, lasting)
    fleet, done = None, 0
    while done < ROWS:
        try:
            if fleet is None:
                fleet = new(folder, max_keys=6)
            done = fleet.clock
            feed(fleet, done, told)
            done = ROWS
        except OSError:
            if lasting > 1:
                faults.arm(-1, 0, 0)  # there is room again
    for _ in range(3):
        try:
            fleet.commit()
            break
        except OSError:
            pass
    live = models(fleet)
    try:
        fleet.close()
    except OSError:
        fleet.close()
    faults.arm(-1, 0, 0)
    with new(folder, max_keys=6) as again:
        assert again.clock == ROWS, again.clock
        assert models(again) == live == MODELS


def main(folder, every):
    counts = dict.fromkeys(NAMES.values(), 0)
    for action in NAMES:
        for lasting in (1,) if action in (KILLED, TORN) else (1, 7):
            operation = 1
            while True:
                shutil.rmtree(folder, ignore_errors=True)
                hears, told = os.pipe()
                pid = os.fork()
                if pid == 0:
                    code = 1
                    try:
                        child(operation, action, lasting, folder, told)
                        faults.arm(10**9, KILLED, 1)
                        code = 0
                    except BaseException:
                        traceback.print_exc()
                    finally:
                        os._exit(code)
                os.close(told)
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with os.fdopen(hears, "rb") as pipe:
                    acknowledged = BLOCK * max(pipe.read(), default=0)
                was_hit = True
                if action in (KILLED, TORN):
                    was_hit = status == -signal.SIGKILL
                    assert was_hit or status == 0, (NAMES[action], operation, status)
                    with new(folder, max_keys=6) as fleet:
                        assert fleet.clock % BLOCK == 0, fleet.clock
                        assert fleet.clock >= acknowledged, (fleet.clock, acknowledged)
                        assert (fleet.offset or 0) == fleet.clock
                        assert models(fleet) == STATES[fleet.clock], (NAMES[action], operation)
                        feed(fleet, fleet.clock)
                        assert models(fleet) == MODELS, (NAMES[action], operation)
                else:
                    assert status == 0, (NAMES[action], lasting, operation, status)
                    was_hit = operation <= main.most
                if not was_hit:
                    break
                counts[NAMES[action]] += 1
                operation += every
            main.most = max(main.most, operation - every)
    print(counts)


main.most = 0
if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
