"""Streams of rows and labels: files and pipes, encoding, scaling, and generated streams."""

from pocketkernel._order import permutation
from pocketkernel.stream.block import Block, blocks_of, gather
from pocketkernel.stream.encode import Encoding
from pocketkernel.stream.errors import Skipped, StreamError
from pocketkernel.stream.generators import known_kernel
from pocketkernel.stream.reader import open_stream
from pocketkernel.stream.scale import SCALERS, OnlineMaxAbs, OnlineMinMax, OnlineStandard, Scaler
from pocketkernel.stream.stream import Stream

__all__ = [
    "SCALERS",
    "Block",
    "Encoding",
    "OnlineMaxAbs",
    "OnlineMinMax",
    "OnlineStandard",
    "Scaler",
    "Skipped",
    "Stream",
    "StreamError",
    "blocks_of",
    "gather",
    "known_kernel",
    "open_stream",
    "permutation",
]
