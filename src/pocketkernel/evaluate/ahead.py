"""Reading ahead of the learner."""

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event, Thread

from pocketkernel.stream import Block

POLL = 0.1
"""Seconds between two looks at whether to stop."""

READER = "pocketkernel reader"
"""Name of the thread that reads ahead."""


def ahead(
    blocks: Iterator[Block],
    depth: int = 2,
    stop: Callable[[], bool] | None = None,
    end: Callable[[], bool] | None = None,
) -> Generator[Block, None, None]:
    """The same blocks, read by a separate thread while the learner, which releases the GIL, works on the last one.

    The iterator is used only in that thread. At most `depth` blocks wait. No further block is given once `stop` says
    so, even while the next one is awaited. With `end`, blocks that have been read by then are still given: it tells the
    other thread to end soon, and says whether that thread only waits.
    """
    queue: Queue[Block | BaseException | None] = Queue(depth)
    done = Event()

    def put(item: Block | BaseException | None) -> bool:
        while not done.is_set():
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
        while True:
            stopping = stop is not None and stop()
            if stopping and end is None:
                return
            idle = stopping and end is not None and end()  # then all that was read is in the queue
            try:
                item = queue.get(not idle, POLL)
            except Empty:
                if idle:
                    return
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        done.set()
