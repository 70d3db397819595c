"""Fleets on Spark: the same answers and models as a fleet in this process, also after kill -9."""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

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
FILES, ROWS = 5, 300


def events(folder):
    """Files of a keyed stream, in folder/in, and the stream itself."""
    rng = np.random.default_rng(0)
    (folder / "in").mkdir(parents=True)
    parts = []
    for n in range(FILES):
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


def check(folder, stream, digest):
    scores, models = expected(stream)
    out = pd.read_parquet(folder / "out").sort_values("t")
    assert out.t.tolist() == stream.t.tolist()  # every event once
    assert np.array_equal(out.score.to_numpy(), scores)
    assert out.prediction.tolist() == np.where(scores >= 0, "yes", "no").tolist()
    assert digest == models


def test_killed_and_resumed(tmp_path):
    stream = events(tmp_path)
    moments = random.Random(0)
    kills = 0
    for _ in range(2):
        process = start(tmp_path)
        began = time.monotonic()
        while not (tmp_path / "checkpoint" / "offsets" / "0").exists() and time.monotonic() - began < 300:
            time.sleep(0.2)
        time.sleep(moments.uniform(0.0, 6.0))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # the driver, the JVM and the Python workers
            kills += 1
        process.communicate()
    assert kills > 0
    check(tmp_path, stream, finish(start(tmp_path)))


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
