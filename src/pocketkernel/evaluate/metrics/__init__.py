"""Measures of a pass over a stream: bounded memory, exact when saved and resumed, mergeable."""

from pocketkernel.evaluate.metrics.classification import ClassificationMetrics
from pocketkernel.evaluate.metrics.regression import RegressionMetrics

Metrics = ClassificationMetrics | RegressionMetrics

__all__ = ["ClassificationMetrics", "Metrics", "RegressionMetrics"]
