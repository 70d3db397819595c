"""Mangled CSV, JSON lines and LIBSVM text, plain and compressed: rows, or one sentence, and no other error.

`python test_stream_fuzz.py FIRST COUNT` tries other seeds.
"""

import bz2
import gzip
import io
import json
import lzma
import random
import sys

import pytest

from pocketkernel.model_file import ModelFileError
from pocketkernel.stream import StreamError, open_stream

CASES, PARTS = 2000, 4
SIGNS = [bytes([sign]) for sign in b",;|\t \n\r\0\"'#:-+.$%()[]{}\\e019\x0b\x0c\x1c\x85\xe9\xff"] + [
    b'""', b'"', b"\n", b"\r\n", b"\xef\xbb\xbf", b"\xff\xfe", "\u2212".encode(), "\u2028".encode(), b"sep=;\n", b"# ",
    b"1e999", b"nan", b"NA", b"1:2", b"qid:1 ", b'{"a":1}', b"null", b'"\\ud800"', b"9" * 400, b"9" * 5000,
    b"2020-01-31", b"12:30", b"a,b,label\n", b"[" * 3000, b'{"a":' * 500,
]  # fmt: skip
NOT_OURS = ("reshape", "broadcast", "could not convert", "argument", "dimension", "concatenate", "array", "codec")


def table(rng):
    """Some columns of all kinds, with any delimiter and line ends."""
    cells = [
        lambda _: str(rng.randint(-5, 50)), lambda _: f"{rng.gauss(0, 1):.3f}", lambda row: f"K{row}", lambda _: "",
        lambda _: rng.choice(["red", "blue", "NA", ""]), lambda _: f"{rng.randint(1, 28)}/{rng.randint(1, 12)}/2020",
        lambda _: f"{rng.randint(0, 9)},{rng.randint(0, 99)} €", lambda _: rng.choice(["yes", "no"]),
        lambda _: rng.choice(['"a\nb"', '"x ""y"""', '"a,b"']),
    ]  # fmt: skip
    columns = [rng.choice(cells) for _ in range(rng.randint(1, 5))]
    delimiter = rng.choice(",;\t| ")
    names = [rng.choice(["a", "b", "", "date", "id"]) + rng.choice(["", str(k)]) for k in range(len(columns))]
    rows = [[cell(row) for cell in columns] + [rng.choice("01")] for row in range(rng.randint(0, 30))]
    lines = [delimiter.join(cells) for cells in [[*names, "label"], *rows][rng.random() < 0.15 :]]
    return (rng.choice(["\n", "\r\n", "\n", "\r"]).join(lines) + rng.choice(["\n", "", "\n\n"])).encode()


def json_lines(rng):
    """Objects with any keys and values, by line or in an array."""

    def value(depth=0):
        simple = [rng.randint(-9, 9), rng.gauss(0, 1), "red", "", "2020-01-01", None, True]
        nested = [[value(depth + 1)], {rng.choice("abc"): value(depth + 1)}] if depth < 2 and rng.random() < 0.2 else []
        return rng.choice(nested or simple)

    rows = [
        json.dumps({key: value() for key in rng.sample("abcde", rng.randint(0, 4))} | {"label": rng.randint(0, 1)})
        for _ in range(rng.randint(0, 30))
    ]
    return ("\n".join(rows) if rng.random() < 0.8 else "[" + ",\n".join(rows) + "]").encode()


def libsvm(rng):
    """Rows of a few columns."""
    lines = [
        " ".join([rng.choice(["+1", "-1"]), *(f"{k}:{rng.gauss(0, 1):.2f}" for k in range(1, rng.randint(2, 9)))])
        for _ in range(rng.randint(0, 30))
    ]
    return "\n".join(lines).encode()


def noise(rng):
    """Any bytes."""
    return rng.randbytes(rng.randint(0, 300))


def mangled(rng, text):
    """The same with some pieces put in, taken out, or repeated."""
    text = bytearray(text)
    for _ in range(rng.choice([0, 1, 1, 2, 4, 10])):
        at = rng.randint(0, len(text))
        kind = rng.random()
        if kind < 0.6:
            text[at:at] = rng.choice(SIGNS)
        elif kind < 0.75:
            del text[at : at + rng.randint(1, 8)]
        elif kind < 0.85:
            text[at:at] = rng.randbytes(rng.randint(1, 6))
        elif kind < 0.92:
            del text[at:]
        else:
            text[at:at] = text[rng.randint(0, at) : at] * rng.randint(1, 5)
    return bytes(text)


def attempt(seed):
    """Read a mangled file, and another one by what was learned of it; the number of rows, or the sentence."""
    rng = random.Random(seed)
    make, format = rng.choice(
        [(table, "csv"), (table, "tsv"), (json_lines, "jsonl"), (libsvm, "libsvm"), (noise, "csv")]
    )
    text = mangled(rng, make(rng))
    if rng.random() < 0.1:
        text = mangled(rng, rng.choice([gzip.compress, bz2.compress, lzma.compress])(text))
    options = {"strict": rng.random() < 0.35, "block": rng.choice([1, 3, 1000])}
    some = {"format": format, "on_error": rng.choice(["skip", "raise"]), "rows": rng.randint(1, 5)}
    if format != "libsvm":
        some |= {"label": rng.choice(["label", -1, 0, False]), "missing": rng.choice(["mean", "keep", "error"])}
        some |= {"header": rng.random() < 0.5, "delimiter": rng.choice([",", " ", "\0"])}
        some |= {"categorical": "auto"} if options["strict"] else {rng.choice(["numeric", "date", "drop"]): ["a"]}
        some |= {} if options["strict"] else {"id": rng.choice([0, "label"])}
    options |= {name: value for name, value in some.items() if rng.random() < 0.25}
    try:
        stream = open_stream(io.BytesIO(text), **options)
        if not options["strict"] and rng.random() < 0.5:
            stream.adopt_classes()
        rows = sum(len(block) for block in stream.blocks())
        if stream.encoding is not None:
            given = {"encoding": stream.encoding.to_dict(), "format": stream.format, "on_error": "skip"}
            again = open_stream(io.BytesIO(mangled(rng, text)), label=False, **given, **stream.dialect)
            rows += sum(len(block) for block in again.blocks())
    except (StreamError, ModelFileError) as error:
        return str(error)
    except ValueError as error:
        assert type(error) is ValueError and str(error).endswith((".", ")")), f"seed {seed}: {error!r}"
        assert not any(word in str(error) for word in NOT_OURS), f"seed {seed}: {error!r}"
        return str(error)
    return rows


@pytest.mark.parametrize("part", range(PARTS))
def test_mangled_text(part):
    found = [attempt(seed) for seed in range(part * CASES // PARTS, (part + 1) * CASES // PARTS)]
    assert sum(isinstance(one, int) and one > 0 for one in found) > len(found) / 10
    assert sum(isinstance(one, str) for one in found) > len(found) / 10


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    for number in range(first, first + count):
        attempt(number)
