"""Reading ahead of the learner."""

from collections.abc import Generator, Iterator
from contextlib import suppress
from queue import Full, Queue
from threading import Event, Thread

from pocketkernel.stream import Block

READER = "pocketkernel reader"
"""Name of the thread that reads ahead."""


def ahead(blocks: Iterator[Block], depth: int = 2) -> Generator[Block, None, None]:
    """The same blocks, read by a separate thread while the learner, which releases the GIL, works on the last one.

    The iterator is used only in that thread. At most `depth` blocks wait.
    """
    queue: Queue[Block | BaseException | None] = Queue(depth)
    stop = Event()

    def put(item: Block | BaseException | None) -> bool:
        while not stop.is_set():
            with suppress(Full):
                queue.put(item, timeout=0.1)
                return True
        return False

    def read() -> None:
        try:
            if all(put(block) for block in blocks):
                put(None)
        except BaseException as error:
            put(error)

    Thread(target=read, name=READER, daemon=True).start()
    try:
        while (item := queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
