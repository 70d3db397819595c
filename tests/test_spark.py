"""Fleets on Spark: the same answers and models as a fleet in this process, also after kill -9."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlparse

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pocketkernel import PocketClassifier
from pocketkernel.fleet import Fleet

pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java: apt install default-jre-headless"),
    pytest.mark.xdist_group("spark"),
]
pytest.importorskip("pyspark", reason="pip install 'pocketkernel[spark]'")
pytest.importorskip("google.protobuf", reason="pip install 'pocketkernel[spark]'")

WORKER = Path(__file__).with_name("spark_worker.py")
ROWS = 300
KILLS = int(os.environ.get("POCKETKERNEL_SPARK_KILLS", "2"))


def events(folder, files=5):
    """Files of a keyed stream, in folder/in, and the stream itself."""
    rng = np.random.default_rng(0)
    (folder / "in").mkdir(parents=True)
    parts = []
    for n in range(files):
        X, users = rng.normal(size=(ROWS, 3)), rng.integers(0, 20, ROWS)
        rows = pd.DataFrame({"user": [f"u{user}" for user in users], "t": np.arange(n * ROWS, (n + 1) * ROWS)})
        rows["y"] = np.where((X[:, 0] > 0) ^ (users % 2 == 0), "yes", "no")
        for k in range(3):
            rows[f"x{k}"] = X[:, k]
        path = folder / "in" / f"{n}.parquet"
        rows.sample(frac=1, random_state=0).to_parquet(path)  # the order column decides
        os.utime(path, (1e9 + n, 1e9 + n))
        parts.append(rows)
    return pd.concat(parts, ignore_index=True)


def expected(stream):
    """Scores, and the digest of the models, of a fleet in this process."""
    fleet = Fleet(clone(PocketClassifier(memory="4KiB", random_state=0)), features=3, classes=["no", "yes"], n_jobs=1)
    scores = fleet.predict_then_learn(stream.user, stream[["x0", "x1", "x2"]].to_numpy(), stream.y.to_numpy())
    digest = hashlib.sha256()
    for key in sorted(fleet):
        digest.update(fleet[key].to_bytes())
    return scores, digest.hexdigest()


def start(folder):
    command = [sys.executable, "-W", "ignore", str(WORKER), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def finish(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err[-3000:]
    return out.split()[-1]


def committed(out):
    """The files of micro-batches that were committed; a killed one leaves others behind."""
    logs = [path for path in (out / "_spark_metadata").iterdir() if path.name.split(".")[0].isdigit()]
    lines = [line for path in logs for line in path.read_text().splitlines()[1:]]
    return sorted({urlparse(json.loads(line)["path"]).path for line in lines})


def check(folder, stream, digest):
    scores, models = expected(stream)
    out = pd.concat([pd.read_parquet(path) for path in committed(folder / "out")]).sort_values("t")
    assert out.t.tolist() == stream.t.tolist()  # every event once
    assert np.array_equal(out.score.to_numpy(), scores)
    assert out.prediction.tolist() == np.where(scores >= 0, "yes", "no").tolist()
    assert digest == models


def processes_of(session, what):
    """Processes of a session, by what their command lines contain."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(entry.name)) == session and what in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def commits(folder):
    """How many micro-batches were committed."""
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def kill(pids):
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(pids) > 0


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes in /proc")
def test_killed_and_resumed(tmp_path):
    """Everything, the JVM alone or the Python workers alone, at random moments; POCKETKERNEL_SPARK_KILLS times."""
    stream = events(tmp_path, files=max(5, 8 * KILLS))
    moments = random.Random(0)
    victims = {"all": b"", "JVM": b"java", "workers": b"pyspark.daemon"}
    killed = dict.fromkeys(victims, 0)
    for n in range(KILLS):
        process = start(tmp_path)
        assert process.stdout.readline() == "running\n"
        name = list(victims)[n % len(victims)]
        began, before = time.monotonic(), commits(tmp_path)
        wanted = before + moments.randint(0, 3)

        def is_time(process=process, name=name, wanted=wanted):
            return commits(tmp_path) >= wanted and processes_of(process.pid, victims[name])

        while process.poll() is None and not is_time() and time.monotonic() - began < 120:
            time.sleep(0.02)  # the workers start with the first micro-batch
        time.sleep(moments.uniform(0.0, 1.5))
        killed[name] += process.poll() is None and kill(processes_of(process.pid, victims[name]))
        print(f"kill {n}: {name}, after {commits(tmp_path)} micro-batches, {before} of them before", flush=True)
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)  # what is left gives up by itself, or never
        kill(processes_of(process.pid, b""))
        process.communicate()
    check(tmp_path, stream, finish(start(tmp_path)))
    print(f"killed {killed}: {len(stream):,} answers and all models equal to the bit")
    assert sum(killed.values()) > 0


def test_batch(tmp_path):
    stream = events(tmp_path)
    code = f"""
import sys; sys.path.insert(0, {str(WORKER.parent)!r})
from spark_worker import keyed_models, session
from pathlib import Path
spark = session()
rows = spark.read.parquet({str(tmp_path / "in")!r})
models = keyed_models()
models.learn_batch(rows).toPandas().to_parquet({str(tmp_path / "out.parquet")!r})
models.fit_batch(rows).toPandas().to_parquet({str(tmp_path / "models.parquet")!r})
try:
    models.learn_batch(rows.drop("t"))
except ValueError as error:
    print(error)
spark.stop()
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "events has no column 't'" in done.stdout
    scores, digest = expected(stream)
    out = pd.read_parquet(tmp_path / "out.parquet").sort_values("t")
    assert np.array_equal(out.score.to_numpy(), scores)
    models = pd.read_parquet(tmp_path / "models.parquet").sort_values("user")
    whole = hashlib.sha256(b"".join(models.model))
    assert whole.hexdigest() == digest
    assert PocketClassifier.from_bytes(models.model.iloc[0]).diagnostics_.rounds > 0


def test_names_with_dots_and_clocks_that_go_back(tmp_path):
    """Rows are learned in the order of instants: an hour of local time comes twice, and pandas sees local time."""
    rng = np.random.default_rng(0)
    X, users = rng.normal(size=(240, 2)), rng.integers(0, 5, 240)
    instants = pd.date_range("2026-10-24 23:00", periods=240, freq="min", tz="UTC")
    y = np.where((X[:, 0] > 0) ^ (users % 2 == 0), "yes", "no")
    rows = pd.DataFrame({"user.id": users, "event.time": instants, "is.good": y, "x.0": X[:, 0], "prediction": X[:, 1]})
    rows.sample(frac=1, random_state=0).to_parquet(tmp_path / "in.parquet", coerce_timestamps="us")
    code = f"""
import sys; sys.path.insert(0, {str(WORKER.parent)!r})
from spark_worker import session
from pocketkernel import PocketClassifier
from pocketkernel.spark import KeyedModels
from pyspark.sql import functions
spark = session()
spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
models = KeyedModels(PocketClassifier(memory="4KiB", random_state=0), key="user.id", label="is.good",
                     features=["x.0", "prediction"], order="event.time", classes=["no", "yes"], buckets=2)
events = spark.read.parquet({str(tmp_path / "in.parquet")!r})
answers = models.learn_batch(events)
assert answers.columns == ["user.id", "event.time", "prediction", "score"], answers.columns
micros = functions.unix_micros("`event.time`").alias("micros")
answers.select("`user.id`", micros, "prediction", "score").toPandas().to_parquet({str(tmp_path / "out.parquet")!r})
assert models.fit_batch(events).columns == ["user.id", "model"]
spark.stop()
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    out = pd.read_parquet(tmp_path / "out.parquet").sort_values("micros")
    assert out.micros.tolist() == (instants.as_unit("us").asi8).tolist()
    fleet = Fleet(clone(PocketClassifier(memory="4KiB", random_state=0)), features=2, classes=["no", "yes"])
    assert np.array_equal(out.score.to_numpy(), fleet.predict_then_learn(users, X, y))
