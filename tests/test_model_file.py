"""Model files: complete, of fixed size, written all or not at all, and refused with the right sentence."""

import copy
import errno
import io
import json
import os
import pickle
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pocketkernel
import streams
from discover import ESTIMATORS, small
from fuzz_model_file import canonical, pack, unpack
from pocketkernel import (
    MOMDH,
    MOMDS,
    Gaussian,
    Laplacian,
    Linear,
    ModelFileError,
    PocketClassifier,
    Polynomial,
    Raker,
    _core,
    _files,
    gaussians,
    model_file,
)
from pocketkernel.learners import _persistent
from pocketkernel.learners._persistent import plausible
from pocketkernel.learners._recipe import PARAMETERS, Recipe

X, Y = streams.with_duplicates(300)
every_estimator = pytest.mark.parametrize("class_", ESTIMATORS, ids=lambda c: c.__name__)
every_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])


def taught(class_, rows=200, **given):
    return small(class_, **given).partial_fit(X[:rows], Y[:rows], classes=[-1, 1])


def edited(data, change):
    """The file with another model in it, and a good sha256."""
    metadata, model, state = unpack(data)
    change(model)
    return pack(metadata, canonical(model), state)


def refused(data, sentence, class_=MOMDS):
    with pytest.raises(ModelFileError, match=sentence):
        class_.from_bytes(data)


def same(one, other):
    """Two models that are and will be the same."""
    assert type(one) is type(other)
    assert one.to_bytes() == other.to_bytes()
    np.testing.assert_array_equal(one.classes_, other.classes_)
    assert one.classes_.dtype == other.classes_.dtype
    assert (one.n_features_in_, one.budget_, one.nbytes) == (other.n_features_in_, other.budget_, other.nbytes)
    y = one.classes_[(Y > 0).astype(int)]
    np.testing.assert_array_equal(one.predict_then_learn(X, y), other.predict_then_learn(X, y))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.to_bytes() == other.to_bytes()


# ---- what is written ------------------------------------------------------------------------------------------------


@every_dtype
@every_estimator
def test_there_and_back(class_, dtype, tmp_path):
    model = taught(class_, dtype=dtype)
    model.save(tmp_path / "model.pk")
    assert (tmp_path / "model.pk").read_bytes() == model.to_bytes()
    loaded = pocketkernel.load(tmp_path / "model.pk")
    assert loaded.get_params() == model.get_params()
    same(loaded, model)
    same(class_.from_bytes(bytearray(model.to_bytes())), model)
    assert pocketkernel.load(str(tmp_path / "model.pk")).budget_ == model.budget_


@every_dtype
@every_estimator
def test_the_size_is_fixed_from_the_first_row_on(class_, dtype):
    model = taught(class_, rows=1, dtype=dtype)
    size = len(model.to_bytes())
    for rows in np.array_split(np.arange(1, 300), 7):
        model.partial_fit(X[rows], Y[rows])
        assert len(model.to_bytes()) == size
    assert size < model.nbytes + 2500


@every_estimator
def test_the_same_model_gives_the_same_bytes(class_):
    """In every process, too: nothing is left to the order of a hash table."""
    one, other = taught(class_), taught(class_)
    assert one.to_bytes() == one.to_bytes() == other.to_bytes()


@every_estimator
def test_it_is_a_safetensors_file(class_, tmp_path):
    model = taught(class_)
    model.save(tmp_path / "model.safetensors")
    with safe_open(tmp_path / "model.safetensors", "np") as file:
        assert list(file.keys()) == ["state"]
        assert file.get_tensor("state").tobytes() == model._core.save()
        metadata = file.metadata()
    assert metadata.keys() == {"format", "format_version", "library_version", "model", "sha256"}
    assert metadata["format"] == "pocketkernel"
    assert metadata["format_version"] == "1"
    assert metadata["library_version"] == pocketkernel.__version__
    written = json.loads(metadata["model"])
    assert written["estimator"] == class_.__name__
    assert written["parameters"].keys() == model.get_params().keys()
    assert written["recipe"]["learner"] == class_._learner
    assert written["n_features"] == 3
    length = int.from_bytes(model.to_bytes()[:8], "little")
    assert length % 8 == 0  # the state is aligned


KERNELS = [
    None, Gaussian(0.5), Gaussian(2), gaussians([0.5, 1]), [Gaussian(np.float32(0.25)), Gaussian(np.int64(3))],
    (Gaussian(1.0), Laplacian(2.0), Polynomial(3), Linear()), [Linear()], Linear(),
]  # fmt: skip


@pytest.mark.parametrize("kernels", KERNELS, ids=str)
def test_kernels(kernels):
    model = taught(MOMDS, kernels=kernels)
    loaded = MOMDS.from_bytes(model.to_bytes())
    one = kernels is None or not isinstance(kernels, list | tuple)
    assert loaded.kernels == (kernels if one else tuple(kernels))
    same(loaded, model)
    if isinstance(kernels, tuple):
        assert isinstance(loaded.kernels[-1], type(kernels[-1]))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 7]), np.array([-5, 0], dtype=np.int8), np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1]), np.array([1, 2], dtype=">i4"), np.array([-3e9, 1e15]),
        np.array([1.0, 2.0], dtype=np.float32), np.array([1, 2], dtype=np.float16), np.array([False, True]),
        np.array(["no", "yes"]), np.array(["", "ja 🙂\n\"'\\"]), np.array(["a", "b"], dtype="<U100"),
        np.array(["no", "yes"], dtype=object), np.array([np.str_("a"), np.str_("b")], dtype=object),
    ],
    ids=repr,
)  # fmt: skip
def test_labels(labels, tmp_path):
    model = small(MOMDS).fit(X, labels[(Y > 0).astype(int)])
    model.save(tmp_path / "m")
    loaded = pocketkernel.load(tmp_path / "m")
    assert loaded.classes_.dtype == labels.dtype
    assert loaded.classes_.tolist() == labels.tolist()
    same(loaded, model)
    same(pickle.loads(pickle.dumps(model)), model)


def test_labels_that_cannot_be_written():
    """They are refused before anything is learned."""
    model, labels = small(MOMDS), np.array([1, 2], dtype=np.longdouble)
    with pytest.raises(ValueError, match=r"the labels .* cannot be written to a file: use .* strings or numbers"):
        model.fit(X, labels[(Y > 0).astype(int)])
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    "model",
    [
        Raker(features=4, rate=1e6, regularization=0, loss="hinge", random_state=0),
        MOMDS(budget=8, step=1e12, norm_bound=1e12, random_state=0),
        MOMDH(budget=8, step=1e12, norm_bound=1e12, random_state=0),
        PocketClassifier(random_state=0),
        PocketClassifier(dtype="float64", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_largest_steps_and_weights_stay_finite(model):
    for _ in range(20):
        model.partial_fit(X, Y, sample_weight=np.full(len(Y), 1e9))
    assert np.isfinite(model.decision_function(X)).all()
    same(type(model).from_bytes(model.to_bytes()), model)


def test_special_files_are_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        taught(MOMDS).save(pipe)
    assert pipe.is_fifo()


def test_a_large_state_is_not_read_before_it_is_believed(tmp_path):
    """A file with holes says that it has 64 GiB of state."""
    data = taught(MOMDS).to_bytes()
    metadata, _, _ = unpack(data)
    header = model_file._header(metadata, {"state": ("U8", [2**36])})
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 2**36)
    with pytest.raises(ModelFileError, match="but a state of"):
        pocketkernel.load(path)


def test_a_header_of_many_parts(tmp_path):
    path = tmp_path / "parts"
    header = b'{"__metadata__":{"format":"pocketkernel"},"a":[' + b"[]," * 3_000_000 + b"[]]}"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ModelFileError, match="too many parts"):
        pocketkernel.load(path)


def test_names_of_columns(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b[\"']", "ü 🙂"])
    model = small(MOMDS).fit(frame, Y)
    model.save(tmp_path / "m")
    loaded = pocketkernel.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    assert loaded.feature_names_in_.dtype == object
    np.testing.assert_array_equal(loaded.decision_function(frame), model.decision_function(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.partial_fit(frame[frame.columns[::-1]], Y)
    assert not hasattr(MOMDS.from_bytes(taught(MOMDS).to_bytes()), "feature_names_in_")


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (None, None), (3, 3), (2**64 - 1, 2**64 - 1), (np.int64(5), 5),
        (np.random.default_rng(0), "seed"), (np.random.RandomState(0), "seed"),
    ],
    ids=str,
)  # fmt: skip
def test_random_state(given, written):
    model = taught(MOMDS, random_state=given)
    loaded = MOMDS.from_bytes(model.to_bytes())
    assert loaded.random_state == (model._recipe.seed if written == "seed" else written)
    same(loaded, model)
    if written == "seed":  # and a new fit of it is the run that was saved
        np.testing.assert_array_equal(
            clone(loaded).predict_then_learn(X, Y),
            small(MOMDS, random_state=loaded.random_state).predict_then_learn(X, Y),
        )


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"step": float("nan")}, "step=nan cannot be written to a file: use a number, a string or None"),
        ({"budget": 10**30}, "budget=10{30} cannot"),
        ({"memory": object()}, "memory=<object .* cannot"),
        ({"random_state": [1]}, r"random_state=\[1\] cannot"),
        ({"kernels": iter(())}, "kernels=.* cannot be written to a file: use a list of kernels"),
        ({"kernels": [Gaussian(float("inf"))]}, "kernels has Gaussian.*plain numbers"),
        ({"kernels": ["gaussian"]}, "kernels has 'gaussian'"),
    ],
    ids=lambda given: given if isinstance(given, str) else next(iter(given)),
)
def test_parameters_that_cannot_be_written(changed, sentence):
    model = taught(MOMDS).set_params(**changed)
    with pytest.raises(ValueError, match=sentence):
        model.to_bytes()
    same(pickle.loads(pickle.dumps(taught(MOMDS))), taught(MOMDS))


def test_parameters_set_for_the_next_fit(tmp_path):
    model = taught(MOMDS).set_params(budget=99, dtype="float64", kernels=Gaussian(2.0), step=np.float32(0.5))
    loaded = MOMDS.from_bytes(model.to_bytes())
    assert loaded.get_params() == model.get_params()
    same(loaded, model)


def test_nothing_learned():
    with pytest.raises(NotFittedError, match="MOMDS has not learned anything yet: call fit or partial_fit"):
        MOMDS().to_bytes()
    with pytest.raises(NotFittedError):
        MOMDS().save("/nowhere/at/all")


def test_a_header_too_long(monkeypatch):
    monkeypatch.setattr(model_file, "LARGEST_HEADER", 500)
    with pytest.raises(ValueError, match="shorter names of columns"):
        taught(MOMDS).to_bytes()


# ---- files ----------------------------------------------------------------------------------------------------------


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "m"
    taught(MOMDS).save(path)
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    model = taught(Raker)
    model.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert path.read_bytes() == model.to_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "m"]


@pytest.mark.parametrize("broken", ["open", "fsync", "replace", "copymode"])
def test_a_failure_leaves_the_old_file(broken, tmp_path, monkeypatch):
    path = tmp_path / "m"
    old = taught(MOMDS)
    old.save(path)

    class Full(io.FileIO):
        def write(self, data):
            super().write(data[:100])
            raise OSError(28, "No space left on device")

    def fail(*_):
        raise OSError(5, "Input/output error")

    if broken == "open":
        monkeypatch.setattr(_files, "open", lambda name, mode: Full(name, mode), raising=False)
    elif broken == "copymode":
        monkeypatch.setattr(_files.shutil, broken, fail)
    else:
        monkeypatch.setattr(_files.os, broken, fail)
    with pytest.raises(OSError, match=r"No space|Input/output"):
        taught(MOMDS, rows=50).save(path)
    assert path.read_bytes() == old.to_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_that_could_not_be_read_replace_nothing(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    model = taught(MOMDS)
    model.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(MOMDS, "to_bytes", lambda self: before[:-1])
    with pytest.raises(ModelFileError, match="truncated"):
        model.save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_an_interrupted_save_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_files.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        taught(MOMDS).save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_places_to_save_to(tmp_path):
    model = taught(MOMDS)
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        model.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="the folder to save into does not exist"):
        model.save(tmp_path / "no" / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do everything")
def test_no_permission(tmp_path):
    path = tmp_path / "m"
    taught(MOMDS).save(path)
    path.chmod(0)
    with pytest.raises(PermissionError, match="m'"):
        pocketkernel.load(path)


def test_places_to_load_from(tmp_path):
    with pytest.raises(FileNotFoundError):
        pocketkernel.load(tmp_path / "m")
    with pytest.raises(FileNotFoundError, match="not the folder of a finished run"):
        pocketkernel.load(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(ModelFileError, match=r"empty: the model file is empty"):
        pocketkernel.load(tmp_path / "empty")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="pipe: this is neither a file nor a link to one"):
        pocketkernel.load(tmp_path / "pipe")


def test_a_huge_foreign_file_is_not_read(tmp_path):
    with open(tmp_path / "sparse", "wb") as file:
        file.write(b"\x10" + b"\0" * 7 + b"{}".ljust(16))
        file.truncate(2**40)
    with pytest.raises(ModelFileError, match="not a pocketkernel model file"):
        pocketkernel.load(tmp_path / "sparse")
    with open(tmp_path / "sparse", "wb") as file:
        file.write(taught(MOMDS).to_bytes())
        file.truncate(2**40)
    with pytest.raises(ModelFileError, match=rf"damaged: it should have \d+ bytes, but has {2**40}"):
        pocketkernel.load(tmp_path / "sparse")


# ---- files that are refused, and why --------------------------------------------------------------------------------


def test_truncated():
    data = taught(MOMDS).to_bytes()
    for size in (3, 8, 20, 100, 1000, len(data) - 1):
        refused(data[:size], "is truncated")
    refused(b"", "is empty")
    refused(data + b"\0", "damaged: it should have")


@pytest.mark.parametrize(
    "data", [b"\0" * 100, b"\xff" * 100, b"hello", b"hello, world\n" * 99, pickle.dumps([1] * 999), b"PK\x03\x04" * 50,
             b"\x02" + b"\0" * 7 + b"{}", b"\x02" + b"\0" * 7 + b"[]"], ids=repr,
)  # fmt: skip
def test_foreign(data):
    refused(data, "this is not a pocketkernel model file")


def test_foreign_safetensors():
    from safetensors.numpy import save

    refused(save({"w": np.zeros(3)}), "not a pocketkernel model file")
    refused(save({"w": np.zeros(3)}, metadata={"format": "pt", "name": "é"}), "not a pocketkernel model file")


def test_newer():
    metadata, _, state = unpack(taught(MOMDS).to_bytes())
    newer = pack(metadata | {"format_version": "3", "library_version": "9.8.7"}, '{"all":"new"}', state)
    refused(newer, r"written by a newer version, pocketkernel 9\.8\.7 \(file format 3, known here: 2\): update")


def test_edited_by_hand():
    data = taught(MOMDS, random_state=1).to_bytes()
    refused(data.replace(b'\\"step\\":1.0', b'\\"step\\":2.0'), "damaged or was edited by hand")
    refused(data.replace(b'"library_version":"0', b'"library_version":"9'), "damaged or was edited by hand")
    refused(data[:-1] + bytes([data[-1] ^ 1]), "damaged or was edited by hand")
    end = 8 + int.from_bytes(data[:8], "little")
    spaced = data[8:end].replace(b'"state":', b'"state": ').ljust(end) + b" " * 8
    spaced = spaced[: len(spaced) // 8 * 8]
    refused(len(spaced).to_bytes(8, "little") + spaced + data[end:], "its header is not written as pocketkernel writes")
    refused(data[8:end].replace(b'"U8"', b'"I8"').join([data[:8], data[end:]]), "its tensor 'state' is invalid")


@every_estimator
def test_another_class(class_):
    data = taught(class_).to_bytes()
    for other in ESTIMATORS:
        if other is not class_:
            refused(data, f"contains a '{class_.__name__}', not a '{other.__name__}': use pocketkernel.load", other)


def test_unknown_estimator(tmp_path):
    for name in ("SVC", "OnlineKernelClassifier", "__name__", None, ["MOMDS"], 3):
        (tmp_path / "m").write_bytes(
            edited(taught(MOMDS).to_bytes(), lambda model, name=name: model.update(estimator=name))
        )
        with pytest.raises(ModelFileError, match="m: the model file contains an unknown estimator"):
            pocketkernel.load(tmp_path / "m")


WRONG = {
    "extra field": (lambda m: m.update(colour=1), "missing or unknown field.*colour"),
    "lost field": (lambda m: m.pop("labels"), "missing or unknown field.*labels"),
    "parameter": (lambda m: m["parameters"].update(colour=1), "'colour', not a parameter of MOMDS"),
    "parameters": (lambda m: m.update(parameters=[]), "no parameters"),
    "nested parameter": (lambda m: m["parameters"].update(step=[1]), "invalid step"),
    "kernels parameter": (lambda m: m["parameters"].update(kernels=[["cosine", 1]]), "unknown kernel"),
    "kernels no list": (lambda m: m["parameters"].update(kernels="gaussian"), "invalid list of kernels"),
    "recipe": (lambda m: m.update(recipe=None), "no recipe"),
    "recipe field": (lambda m: m["recipe"].update(colour=1), "unknown or missing field, 'colour'"),
    "recipe without": (lambda m: m["recipe"].pop("features"), "unknown or missing field, 'features'"),
    "recipe type": (lambda m: m["recipe"].update(step=1), "invalid step, 1"),
    "recipe sign": (lambda m: m["recipe"].update(budget=-1), "invalid budget, -1"),
    "recipe bool": (lambda m: m["recipe"].update(budget=True), "invalid budget, True"),
    "recipe loss": (lambda m: m["recipe"].update(loss="squared"), "unknown loss"),
    "recipe range": (lambda m: m["recipe"].update(step=-1.0), "cannot be built: step is out of range"),
    "recipe kernels": (lambda m: m["recipe"].update(kernels=[]), "cannot be built: kernels is empty"),
    "learner": (
        lambda m: m["recipe"].update(learner="raker", kernels=m["recipe"]["kernels"][:1], budget=112),  # of equal size
        "a recipe for 'raker', but MOMDS needs 'm_omd_s'",
    ),
    "too large": (lambda m: m["recipe"].update(budget=10**7), "but a state of"),
    "other": (lambda m: m["recipe"].update(step=2.0), "its state belongs to a model with different parameters"),
    "names": (lambda m: m.update(feature_names=["a"]), "does not name the 3 features"),
    "names of": (lambda m: m.update(feature_names=[1, 2, 3]), "does not name the 3 features"),
    "width": (lambda m: m.update(n_features=4), "does not name the 3 features"),
    "labels": (lambda m: m.update(labels=[1, 2]), "invalid labels"),
    "label order": (lambda m: m["labels"].update(values=[1, -1]), "invalid labels"),
    "label types": (lambda m: m["labels"].update(values=[-1, "a"]), "invalid labels"),
    "label dtype": (lambda m: m["labels"].update(dtype="|V8"), "invalid labels"),
    "label range": (lambda m: m["labels"].update(dtype="|i1", values=[0, 300]), "invalid labels"),
    "label size": (lambda m: m["labels"].update(dtype="<U99999999", values=["a", "b"]), "invalid labels"),
    "three labels": (lambda m: m["labels"].update(values=[1, 2, 3]), "3 labels, but a recipe for 2"),
    "extra": (lambda m: m.update(extra=[]), "invalid extra"),
    "wrapped": (lambda m: m.update(extra={"river": {}}), "a model of pocketkernel.river: use pocketkernel.load"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_good_sum_over_a_bad_model(what):
    change, sentence = WRONG[what]
    refused(edited(taught(MOMDS).to_bytes(), change), sentence)


def test_only_bytes():
    with pytest.raises(TypeError, match=r"from bytes, not from str; pocketkernel\.load reads a path"):
        MOMDS.from_bytes("model.pk")


# ---- what will come -------------------------------------------------------------------------------------------------


@every_estimator
def test_a_file_of_a_version_that_had_fewer_fields(class_):
    """A field or a parameter that it lacks has its default."""
    model = small(class_, random_state=None).partial_fit(X, Y)

    def older(written):
        written["recipe"] = {
            name: value for name, value in written["recipe"].items()
            if value != PARAMETERS.get(name, getattr(Recipe, name, None))
        }  # fmt: skip
        written["parameters"].pop("random_state")

    data = edited(model.to_bytes(), older)
    assert len(data) < len(model.to_bytes())
    same(class_.from_bytes(data), model)


def test_a_new_field_of_the_recipe(monkeypatch):
    data = taught(MOMDS).to_bytes()

    @dataclass
    class LaterRecipe(Recipe):
        temperature: float = 0.25

    monkeypatch.setattr(_persistent, "Recipe", LaterRecipe)
    assert MOMDS.from_bytes(data)._recipe.temperature == 0.25


def test_room_for_a_wrapper():
    model = taught(MOMDS)
    extra = {"river": {"columns": {"a": 0, "b": 1}}}
    data = model_file.encode(model._contents(extra))
    restored, found = MOMDS._restored(model_file.decode(data, plausible))
    assert found == extra
    same(restored, model)


def test_every_field_of_a_recipe_can_be_checked():
    own = {field.type for name, field in Recipe.__dataclass_fields__.items() if name != "parameters"}
    assert own | {type(default) for default in PARAMETERS.values()} <= _persistent._CHECKS.keys()


# ---- pickles, copies, subclasses ------------------------------------------------------------------------------------


class Mine(MOMDS):
    """A user's own estimator."""

    def decision_function(self, X):
        return super().decision_function(X) + 1


def by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


COPIERS = {
    **{f"pickle {n}": lambda m, n=n: pickle.loads(pickle.dumps(m, n)) for n in range(2, pickle.HIGHEST_PROTOCOL + 1)},
    "copy": copy.copy, "deepcopy": copy.deepcopy, "joblib": by_joblib,
}  # fmt: skip


@pytest.mark.parametrize("way", COPIERS)
@every_estimator
def test_copies(class_, way):
    model = taught(class_)
    model.note = {"by": "me"}
    copied = COPIERS[way](model)
    assert copied.note == model.note
    assert copied.get_params() == model.get_params()
    before = model.to_bytes()
    same(copied, class_.from_bytes(before))
    assert model.to_bytes() == before


@pytest.mark.parametrize("way", COPIERS)
@every_estimator
def test_copies_of_an_estimator_that_has_learned_nothing(class_, way):
    model = small(class_, **{"kernels": gaussians([1, 2])} if "kernels" in class_._get_param_names() else {})
    model.note = 1
    copied = COPIERS[way](model)
    assert copied.get_params() == model.get_params()
    assert copied.note == 1
    with pytest.raises(NotFittedError):
        copied.to_bytes()
    copied.fit(X, Y)


def test_a_pickle_carries_the_bytes_of_a_file():
    model = taught(MOMDS)
    state = model.__getstate__()
    contents = model_file.decode(state.pop("_model"), plausible)
    assert contents.state == model._core.save()
    assert state == model.get_params()  # and nothing else
    assert b"_recipe" not in pickle.dumps(model)


def test_a_pickle_with_what_no_file_can_hold():
    model = taught(MOMDS, random_state=np.random.default_rng(0)).set_params(step=float("inf"), kernels=[])
    copied = pickle.loads(pickle.dumps(model))
    assert copied.step == float("inf")
    assert isinstance(copied.random_state, np.random.Generator)
    np.testing.assert_array_equal(copied.predict_then_learn(X, Y), model.predict_then_learn(X, Y))


def test_a_clone_has_learned_nothing():
    assert not clone(taught(MOMDS)).__sklearn_is_fitted__()
    assert not clone(MOMDS.from_bytes(taught(MOMDS).to_bytes())).__sklearn_is_fitted__()


def test_a_pipeline_is_pickled():
    pipeline = make_pipeline(StandardScaler(), small(MOMDH)).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pipeline)).predict(X), pipeline.predict(X))


def test_a_subclass(tmp_path):
    model = small(Mine).fit(X, Y)
    model.seen_ = 300
    copied = pickle.loads(pickle.dumps(model))
    assert type(copied) is Mine
    assert copied.seen_ == 300
    np.testing.assert_array_equal(copied.decision_function(X), model.decision_function(X))
    for refuse in (model.to_bytes, lambda: model.save(tmp_path / "m")):
        with pytest.raises(TypeError, match=r"Mine is not a class of pocketkernel.*use pickle, or save a MOMDS"):
            refuse()
    assert not list(tmp_path.iterdir())
    refused(taught(MOMDS).to_bytes(), "contains a 'MOMDS', not a 'Mine'", Mine)


# ---- other levels and processes -------------------------------------------------------------------------------------


@every_dtype
@every_estimator
def test_other_levels(class_, dtype, monkeypatch):
    model = taught(class_, dtype=dtype)
    data = model.to_bytes()
    expected = model.predict_then_learn(X, Y)
    for level in _core.levels():
        monkeypatch.setenv("POCKETKERNEL_LEVEL", level)
        loaded = class_.from_bytes(data)
        np.testing.assert_array_equal(loaded.predict_then_learn(X, Y), expected)
        assert loaded.to_bytes() == model.to_bytes()


def test_the_bytes_do_not_depend_on_the_process():
    code = (
        "import sys, numpy as np, streams; from pocketkernel import MOMDS\n"
        "X, y = streams.rings(50)\n"
        "sys.stdout.buffer.write(MOMDS(budget=8, random_state=1).fit(X, y).to_bytes())"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "random"}
    files = {subprocess.run([sys.executable, "-c", code], env=environment, stdout=-1, check=True).stdout for _ in "ab"}
    assert files == {MOMDS(budget=8, random_state=1).fit(*streams.rings(50)).to_bytes()}


# ---- disks that fail ------------------------------------------------------------------------------------------------


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "m"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        taught(MOMDS).save(path)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.parametrize("class_", [MOMDS, PocketClassifier])
def test_a_file_of_the_first_version_is_refused_with_the_reason(class_):
    """Both have changed since: their numbers would mean something else, or some would be missing."""
    path = Path(__file__).with_name("data") / f"first_{class_.__name__}.safetensors"
    with pytest.raises(ModelFileError, match=r"an earlier version of pocketkernel(, in which| wrote it, in which)"):
        class_.from_bytes(path.read_bytes())


def test_a_folder_that_cannot_be_settled(tmp_path, monkeypatch):
    real = os.fsync

    def failing(file):
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(file)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="m'"):
        taught(MOMDS).save(tmp_path / "m")
