"""How a learner is asked for its certificate."""

from typing import Any

from pocketkernel.certificate import Certificate


def certify(estimator: Any, delta: float) -> Certificate:
    """The certificate of a learner that has learned something."""
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r} is out of range: use a probability above 0 and below 1.")
    done = estimator.diagnostics_
    return Certificate(
        learner=type(estimator).__name__,
        loss=estimator._recipe.loss,
        rounds=int(done.rounds),
        mistakes=int(done.mistakes),
        removals=int(done.removals),
        cumulative_loss=float(done.cumulative_loss),
        delta=delta,
        guarantee=estimator._guarantee(done, delta),
    )
