"""How well a model does on a stream."""

from pocketkernel.evaluate.baselines import Majority, OnlineLinear
from pocketkernel.evaluate.progressive import Progress, progressive

__all__ = ["Majority", "OnlineLinear", "Progress", "progressive"]
