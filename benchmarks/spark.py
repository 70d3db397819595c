"""Events per second of a fleet in Spark's Structured Streaming, local[2], RocksDB state, Parquet files as the source.

python benchmarks/spark.py [--keys 100000] [--rows 200000] [--files 5] [--buckets 32]

One file is one micro-batch. The first one starts the JVM's and Python's workers, so the figure is that of the others.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from pocketkernel import PocketClassifier
from pocketkernel.spark import KeyedModels

COLUMNS = [f"x{k}" for k in range(4)]
CONFIGURATION = {
    "spark.sql.shuffle.partitions": 2,
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
}


def write_events(folder, keys, rows, files):
    rng = np.random.default_rng(0)
    for n in range(files):
        X, of = rng.normal(size=(rows, len(COLUMNS))), rng.integers(0, keys, rows)
        table = pd.DataFrame(X, columns=COLUMNS)
        table["user"], table["t"] = of, np.arange(n * rows, (n + 1) * rows)
        table["y"] = ((X[:, 0] > 0) ^ (of % 2 == 0)).astype("int32")
        path = folder / f"{n:04}.parquet"
        table.to_parquet(path)
        os.utime(path, (1e9 + n, 1e9 + n))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=5)
    parser.add_argument("--buckets", type=int, default=32)
    given = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]")
    for name, value in CONFIGURATION.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    models = KeyedModels(
        PocketClassifier(memory="4KiB", random_state=0),
        key="user",
        label="y",
        features=COLUMNS,
        order="t",
        classes=[0, 1],
        buckets=given.buckets,
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        write_events(folder / "in", given.keys, given.rows, given.files)
        schema = "user long, t long, y int, " + ", ".join(f"{column} double" for column in COLUMNS)
        events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
        writer = models.learn_stream(events).writeStream.format("parquet").option("path", str(folder / "out"))
        query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = [batch["durationMs"]["triggerExecution"] / 1000 for batch in query.recentProgress]
    spark.stop()
    print(f"{given.keys:,} keys, {given.rows:,} events a micro-batch, {given.buckets} buckets")
    for n, each in enumerate(seconds):
        print(f"  micro-batch {n}: {each:6.2f} s, {given.rows / each:10,.0f} events/s")
    print(f"  without the first: {given.rows * (len(seconds) - 1) / sum(seconds[1:]):,.0f} events/s")


if __name__ == "__main__":
    main()
