"""A streaming query over the Parquet files in a folder, until all are learned; run by test_spark.py.

python spark_worker.py FOLDER

Prints the models' digest at the end. The folder has in/, and gets out/ and checkpoint/.
"""

import hashlib
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from pocketkernel import PocketClassifier
from pocketkernel.spark import KeyedModels

COLUMNS = ["x0", "x1", "x2"]
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def keyed_models():
    return KeyedModels(
        PocketClassifier(memory="4KiB", random_state=0),
        key="user",
        label="y",
        features=COLUMNS,
        order="t",
        classes=["no", "yes"],
        buckets=3,
    )


def session(partitions=2):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("pocketkernel")
    for name, value in {
        "spark.sql.shuffle.partitions": partitions,
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # For a JVM that lives for seconds: its better compiler would take longer than it saves.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main(folder):
    spark = session()
    models = keyed_models()
    schema = "user string, t long, y string, " + ", ".join(f"{name} double" for name in COLUMNS)
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    writer = models.learn_stream(events).writeStream.format("parquet").option("path", str(folder / "out"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    print("running", flush=True)
    query.awaitTermination()
    states = spark.read.format("statestore").option("stateVarName", "pieces").load(str(folder / "checkpoint"))
    digest = hashlib.sha256()
    for _, model in sorted(models.models(states).items()):
        digest.update(model.to_bytes())
    print("models", digest.hexdigest())
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
