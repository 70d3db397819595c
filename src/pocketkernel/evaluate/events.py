"""Changes of the stream that a learner has noticed, in a run: with names of columns, in files, and for people."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pocketkernel._fields import is_count, is_text
from pocketkernel.learners import Event

MOST_EVENTS = 100
"""That a run keeps: the latest."""


def joined_events(before: list[Event], latest: Iterable[Event], names: Sequence[str]) -> list[Event]:
    """All events so far, the last 100 at most: a learner keeps only the latest, and knows columns by their place.

    Examples
    --------
    >>> lost, moved = Event(10, "confidence lost"), Event(25, "column changed", 1, "another level")
    >>> [event.column for event in joined_events([lost], [lost, moved], ["age", "price"])]
    [None, 'price']
    """
    named = (event._replace(column=names[event.column]) if isinstance(event.column, int) else event for event in latest)
    return [*before, *(event for event in named if event not in before)][-MOST_EVENTS:]


def to_dict(event: Event) -> dict[str, Any]:
    """An event in plain values, without what it does not have."""
    return {name: value for name, value in event._asdict().items() if value is not None}


def is_event(value: Any) -> bool:
    """Whether a value from a file is a list of what an event has."""
    if not isinstance(value, list) or len(value) != 4 or not is_count(value[0]) or not is_text(value[1]):
        return False
    return all(part is None or is_text(part) for part in value[2:])


def told(event: Mapping[str, Any]) -> str:
    """What has happened, in words.

    Examples
    --------
    >>> told({"row": 3, "kind": "confidence lost"})
    'confidence lost'
    >>> told({"row": 3, "kind": "column changed", "column": "price", "change": "another level"})
    'column price: another level'
    """
    return f"column {event['column']}: {event['change']}" if "column" in event else str(event["kind"])
