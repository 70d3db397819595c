"""Every learner of the package, small enough for tests."""

from pocketkernel import learners

EVERYONE = [getattr(learners, name) for name in learners.__all__]
ESTIMATORS = [class_ for class_ in EVERYONE if issubclass(class_, learners.OnlineKernelClassifier)]
"""Those that learn labels."""
REGRESSORS = [class_ for class_ in EVERYONE if class_ not in ESTIMATORS]
SMALL = {"budget": 8, "features": 8, "reservoir": 3, "horizon": 300, "random_state": 1}


def small(class_, **given):
    """An estimator of the class with few rows or frequencies, and with whatever else is given."""
    names = class_._get_param_names()
    few = SMALL if class_._budget_name in names else SMALL | {"memory": "8KiB"}
    return class_(**{name: value for name, value in few.items() if name in names} | given)
