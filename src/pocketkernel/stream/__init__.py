"""Streams of rows and labels."""

from pocketkernel.stream.bundled import digits
from pocketkernel.stream.generators import known_kernel

__all__ = ["digits", "known_kernel"]
