"""How well a model does on a stream."""

from pocketkernel.evaluate.baselines import Majority, OnlineLinear
from pocketkernel.evaluate.pipeline import Pipeline, load_with_pipeline
from pocketkernel.evaluate.progressive import Progress, follow, progressive
from pocketkernel.evaluate.record import Curve, Record, Recorder, RecordError, settings_of
from pocketkernel.evaluate.run import Job, Run, RunError, run_job

__all__ = [
    "Curve",
    "Job",
    "Majority",
    "OnlineLinear",
    "Pipeline",
    "Progress",
    "Record",
    "RecordError",
    "Recorder",
    "Run",
    "RunError",
    "follow",
    "load_with_pipeline",
    "progressive",
    "run_job",
    "settings_of",
]
