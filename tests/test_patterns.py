"""No regular expression that meets a user's text takes more than linear time, whatever the text is."""

import importlib
import pkgutil
import re
import time
from itertools import product

import pytest

import pocketkernel
from pocketkernel.stream import values

LENGTHS = (20, 500, 1_000, 10_000)
MOST_SECONDS = 0.1  # linear: below 0.001 s for 10,000 characters; quadratic: 0.5 s and more
METHODS = ("fullmatch", "match", "search", "sub", "split", "findall")
BEGINS = ("", "1", "$", "(", "-", "+1", "1e", "--a", "2020-", "a ")
ANY = list(" .,-_01aé$\u00a0e")
ENDS = ("x1", "\0")


def patterns_in(value):
    """The compiled patterns of a value: itself, or those that it holds."""
    if isinstance(value, re.Pattern):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [one for one in value if isinstance(one, re.Pattern)] if isinstance(value, list | tuple) else []


def discovered():
    """Every pattern of the package but the laboratory, with its methods that the package calls."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(pocketkernel.__path__, "pocketkernel.")
        if not re.search(r"\.(lab|__main__|spark)\b", found.name)
    ]
    for module in modules:
        with open(module.__file__, encoding="utf-8", errors="replace") as file:
            source = file.read() if module.__file__.endswith(".py") else ""
        for name, value in vars(module).items():
            for pattern in patterns_in(value) if re.search(rf"^{name}\b.*=", source, re.MULTILINE) else []:
                used = re.findall(rf"\b{name}\.({'|'.join(METHODS)})\b", source)
                yield f"{module.__name__}.{name}", pattern, frozenset(used) or frozenset({"fullmatch"})


FOUND = list(discovered())


def adversarial(pattern, length):
    """A beginning, one sign many times, and an end that does not fit."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    signs = dict.fromkeys([*ANY, *(sign for sign in text if not sign.isalnum() and sign not in "\\[](){}?*|^")])
    units = [*signs, ",111", ".111", " 1", "1.", "a ", "--"]
    for begin, unit, end in product(BEGINS, units, ENDS):
        made = begin + unit * (length // len(unit)) + end
        yield made if isinstance(pattern.pattern, str) else made.encode("utf-8")


def seconds(call, *given):
    began = time.process_time()
    call(*given)
    return time.process_time() - began


def slowest(pattern, method):
    """The first text that takes too long, if there is one; twice, as a machine may pause once."""
    call = getattr(pattern, method)
    given = (b"" if isinstance(pattern.pattern, bytes) else "",) if method == "sub" else ()
    for length in LENGTHS:
        for text in adversarial(pattern, length):
            if seconds(call, *given, text) > MOST_SECONDS and seconds(call, *given, text) > MOST_SECONDS:
                return text[:20], length
    return None


def test_patterns_are_found():
    names = {name.removeprefix("pocketkernel.") for name, _, _ in FOUND}
    assert {"stream.values._FORMS", "stream.dates._SHAPES", "stream.infer._PLAIN", "memory._PATTERN"} <= names
    assert {"stream.files._LIBSVM_LINE", "cli.errors._ADVICE", "stream.schema._LIKELY"} <= names


@pytest.mark.parametrize("name", sorted({name for name, _, _ in FOUND if "dates" not in name}))
def test_patterns_take_linear_time(name):
    for found, pattern, methods in FOUND:
        for method in methods if found == name else ():
            assert slowest(pattern, method) is None, f"{name}.{method}"


def test_patterns_of_dates_take_linear_time():
    """They are many, and alike: one after the other, with fewer texts."""
    every = [pattern for name, pattern, _ in FOUND if "dates" in name]
    for pattern in every:
        for begin, unit, end in product(["", "1", "31 ", "2020-"], [" ", "1", "a", "a.", ":1", "/1"], ["", "!", " 1"]):
            text = begin + unit * (10_000 // len(unit)) + end
            assert min(seconds(pattern.fullmatch, text) for _ in range(2)) < MOST_SECONDS, pattern.pattern


def test_a_slow_pattern_would_be_found():
    """As the numbers once were: three adjacent repetitions of white space; and a quadratic one."""
    units = r"(?:[$€£]|usd)"
    assert slowest(re.compile(rf"{units}?\s*[-+]?\s*{units}?\s*\d+"), "fullmatch") is not None
    assert slowest(re.compile(r"\d+\.?\d*"), "fullmatch") is not None
    assert slowest(re.compile(r"\d+(?:\.\d*)?"), "fullmatch") is None


@pytest.mark.parametrize("text", ["$" + " " * 400 + "x1", "1" * 10_000 + "x", "(" + " " * 400 + "1", "1 " * 5_000])
def test_a_cell_of_any_text_is_soon_judged(text):
    assert seconds(values.is_like_number, text) < MOST_SECONDS
    assert values.to_numbers([text], ".")[1] == [0]
