"""What a kernel, a loss or a learner of the core needs besides its header. A failure names what is missing."""

import oracle
from oracle import parts

from pocketkernel import _core, kernels, learners, losses

PYTHON = {getattr(learners, name)._learner: name for name in learners.__all__}


def test_every_kernel_is_described_in_python():
    assert set(kernels.KERNELS) == set(_core.KERNELS)
    assert {class_.__name__ for class_ in kernels.KERNELS.values()} <= set(kernels.__all__)


def test_every_kernel_has_an_oracle():
    assert set(parts.VALUES) == set(_core.KERNELS)


def test_every_loss_is_described_in_python():
    assert list(losses.LOSSES) == _core.LOSSES


def test_every_learner_has_an_estimator():
    assert set(PYTHON) == set(_core.LEARNERS)


def test_every_learner_has_an_oracle():
    assert {name for name in PYTHON.values() if not hasattr(oracle, name)} == set()


def test_parameters_belong_to_some_learner():
    """A number in the core's Config is a parameter of an estimator: none is left over from something removed."""
    known = {name for class_name in learners.__all__ for name in getattr(learners, class_name)._get_param_names()}
    assert set(_core.parameters()) <= known
