"""How well a model does on a stream."""

from pocketkernel.evaluate.curve import Curve
from pocketkernel.evaluate.folder import run_job
from pocketkernel.evaluate.job import Job
from pocketkernel.evaluate.pipeline import Pipeline, load_with_pipeline
from pocketkernel.evaluate.progressive import Progress, follow, progressive
from pocketkernel.evaluate.record import Record, RecordError
from pocketkernel.evaluate.recorder import Recorder
from pocketkernel.evaluate.run import Run, RunError
from pocketkernel.evaluate.settings import settings_of

__all__ = [
    "Curve",
    "Job",
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
