"""What Theorems 2 and 5 have in common: removals that do little harm."""

from pocketkernel.certificate import Condition


def harmless(xi: float, removals: float) -> Condition:
    """What both suppose of removals."""
    numbers = f"xi = {xi:g}, |J| = {removals:g}, product {xi * removals:g}"
    return Condition("xi |J| <= 1", numbers, removals >= 0 and xi * removals <= 1)
