"""Where inference changes its mind: each threshold from both sides."""

import numpy as np
import pytest

from pocketkernel.stream import dates
from pocketkernel.stream.infer import Sample
from pocketkernel.stream.labels import LABEL_NAMES
from pocketkernel.stream.schema import named_label, plan
from pocketkernel.stream.values import NO_NUMBER
from test_stream_infer import inferred, one_column, roles

WORDS = ["none of these", "left", "late", "lost"]


def described(values, name="a", *, whole=True, y=None, **options):
    """What is made of a column with these values."""
    texts = {name: list(values), "z": [f"{k % 7}.5" for k in range(len(values))]}
    texts["y"] = ["ab"[k % 2] for k in range(len(values))] if y is None else y
    numbers = {
        key: np.array([np.nan if text in NO_NUMBER else float(text) for text in column])
        for key, column in texts.items()
        if all(text in NO_NUMBER or _is_number(text) for text in column)
    }
    usual = {"label": "y", "classes": None, "missing": "keep", "max_categories": None, "hash_width": None, "id": None}
    usual |= dict.fromkeys(["drop", "categorical", "numeric", "date"], ())
    encoding, found = plan(Sample(len(values), whole, texts, numbers), **usual | options)
    feature = next((feature for feature in encoding.features if feature.name == name), None)
    return found.columns[0], feature


def _is_number(text):
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


@pytest.mark.parametrize(
    "good", [[f"{k}.5" for k in range(9)], [f"2024-{k // 28 + 1:02}-{k % 28 + 1:02}" for k in range(84)]]
)
@pytest.mark.parametrize("rows", [1000, 2000])
def test_one_value_in_a_hundred_may_be_odd(good, rows):
    """TYPOS, of numbers and of dates."""
    kind = "number" if "-" not in good[0] else "date"
    values = [good[k % len(good)] for k in range(rows)]
    assert described(values[: rows - rows // 100] + ["oops"] * (rows // 100))[0].role == kind
    assert described(values[: rows - rows // 100 - 1] + ["oops"] * (rows // 100 + 1))[0].role == "category"


def test_three_words_among_numbers_are_remarked():
    """FEW_WORDS, and that they are at most half of the values."""
    numbers = [str(k % 9) for k in range(100)]
    column, _ = described(numbers + WORDS[:3] * 10)
    assert column.role == "category"
    assert "numbers but for 'none of these', 'left', 'late': --numeric a takes only numbers" in column.encoded
    assert "numbers but for" not in described(numbers + WORDS * 10)[0].encoded
    assert "numbers but for" in described(numbers + WORDS[:1] * 100)[0].encoded
    assert "numbers but for" not in described(numbers + WORDS[:1] * 101)[0].encoded


@pytest.mark.parametrize(("rows", "role"), [(19, "number"), (20, "left out")])
def test_twenty_rows_tell_ids(rows, role):
    """MANY: numbers that count the rows, and different ones under the name of an id."""
    assert described([str(5 + k) for k in range(rows)])[0].role == role
    assert described([str(5 + 3 * k) for k in range(rows)], "user_id")[0].role == role
    assert described([str(5 + 3 * k) for k in range(rows)])[0].role == "number"


@pytest.mark.parametrize(
    ("levels", "rows", "are_ids"),
    [(20, 21, False), (21, 22, True), (21, 24, False), (9, 9, False), (10, 10, True)],
)
def test_levels_of_a_category(levels, rows, are_ids):
    """MANY, if more than ONCE of the rows have a level of their own; FEWEST_IDS, if all are different."""
    assert described([f"k{k % levels}" for k in range(rows)])[0].encoded.startswith("id:") == are_ids


@pytest.mark.parametrize(
    ("name", "once", "repeated"),
    [
        ("paid", "number", "number"),
        ("monkey", "number", "number"),
        ("ID", "left out", "category"),
        ("userId", "left out", "category"),
        ("store_id", "left out", "category"),
        ("zip", "left out", "category"),
        ("Customer", "left out", "category"),
        ("customers", "number", "number"),
        ("order_no", "left out", "number"),
    ],
)
def test_names_of_ids(name, once, repeated):
    """Whole numbers that all differ are ids by some names, and those that repeat are categories by others."""
    for values, role in (([k * k for k in range(400)], once), ([k * k % 37 for k in range(400)], repeated)):
        rows = "".join(f"{value},{k % 9},{k % 2}\n" for k, value in enumerate(values))
        assert roles(inferred(f"{name},x,y\n{rows}"))[name] == role


def test_text_is_long_or_has_words():
    """LONG, on average; and two words."""
    ids = [f"{k:02}" + "x" * 38 for k in range(30)]
    assert described(ids)[0].encoded.startswith("id:")
    assert described([*ids[:-1], ids[-1] + "x"])[0].encoded.startswith("text:")
    words = [f"k{k} x" for k in range(30)]
    assert described(words)[0].encoded.startswith("text:")
    assert described([*words[:-1], "y"])[0].encoded.startswith("id:")


def test_a_year_is_that_of_the_calendar():
    """_YEAR: 400 years are 146,097 days, and a circle ends where it begins."""
    columns, _ = dates.to_columns(["1970-01-01", "2370-01-01", "1970-07-02"], dates.ISO, ["days", "year"])
    assert columns[1, 0] == 146_097
    np.testing.assert_allclose(columns[:2, 1:], [[0, 1], [0, 1]], atol=1e-9)
    np.testing.assert_allclose(columns[2, 1:], [np.sin(2 * np.pi * 182 / 365.2425), -1], atol=1e-4)


@pytest.mark.parametrize("count", [200, 201])
def test_two_hundred_labels_are_classes(count):
    """MOST_CLASSES."""
    stream = inferred("a,y\n" + "".join(f"{k % 7}.5,c{k % count}\n" for k in range(3 * count)))
    if count <= 200:
        stream.adopt_classes()
        assert len(stream.classes) == count
    else:
        with pytest.raises(ValueError, match="the label 'y' has 201 different values among the first rows, too many"):
            stream.adopt_classes()


@pytest.mark.parametrize(("levels", "places"), [(2, 8), (3, 8), (4, 8), (5, 10), (15, 30), (16, 32)])
def test_places_for_levels_that_may_come(levels, places):
    """FEWEST_PLACES, or twice as many as there are; where rows are still to come, and single levels promise others."""
    values = ["often"] * 100 + [f"once{k}" for k in range(levels - 1)]
    assert described(values, whole=False)[1].places == (places if levels > 2 else 2)
    assert described(values, whole=True)[1].places == levels
    many = ["often"] * 50 + [f"once{k}" for k in range(levels - 1)]
    assert described(many, whole=False)[1].places == places


@pytest.mark.parametrize(("singles", "others"), [(10, False), (11, True)])
def test_one_single_level_in_a_hundred_rows_promises_no_others(singles, others):
    """UNSEEN."""
    values = ["often"] * (1000 - singles) + [f"once{k}" for k in range(singles)]
    feature = described(values, whole=False)[1]
    assert (feature.places, feature.spare) == (1 if others else singles + 1, 0)


@pytest.mark.parametrize(("places", "spare"), [(15, 0), (16, 16), (17, 16)])
def test_levels_without_a_place_share_some(places, spare):
    """SPARE: only where it is less than what the others have."""
    assert described([f"k{k % 40}" for k in range(200)], max_categories=places)[1].spare == spare


@pytest.mark.parametrize(("missing", "flag"), [(9, False), (10, True)])
def test_a_flag_needs_one_missing_value_in_a_hundred(missing, flag):
    """FLAGGED."""
    values = [f"{k % 9}.5" for k in range(1000 - missing)] + [""] * missing
    assert described(values)[1].flag == flag


@pytest.mark.parametrize(("values", "role"), [(["19000101"], "date"), (["19000100"], "number"), (["21001231"], "date")])
def test_whole_numbers_that_are_days(values, role):
    """FIRST_DAY, LAST_DAY, and five of them."""
    more = ["20240131", "20200229", "20240131", "20200229"]
    assert described(more + values)[0].role == role
    assert described([*more, "21010101"])[0].role == "number"
    assert described([*more[:3], *values])[0].role == "number"


@pytest.mark.parametrize(("levels", "label"), [(20, "kind"), (21, "b")])
def test_few_values_may_be_the_label(levels, label):
    """FEW."""

    class Looked:
        def __init__(self, count):
            self.levels = dict.fromkeys(map(str, range(count)), 1)

    guesses = {"kind": Looked(levels), "b": Looked(3), "c": Looked(50)}
    assert not {"kind", "b", "c"} & set(LABEL_NAMES)
    with pytest.raises(ValueError, match=f"It could be '{label}'"):
        named_label(None, ["b", "kind", "c"], guesses)


def test_the_helpers_agree_with_a_file():
    """The same through a file."""
    values = ["1.5", "2.5"] * 495 + ["oops"] * 10
    assert one_column(values)[0] == described(values)[0].role == "number"
    assert roles(inferred("a,y\n1,0\n2,1\n"))["a"] == "number"


@pytest.mark.parametrize(("columns", "width"), [(2, 96), (21, 1008), (22, 1024), (30, 1024)])
def test_places_of_all_categories_together(columns, width):
    """EACH and ALL: 48 columns each, and at most 1024."""
    names = ",".join([*(f"c{k}" for k in range(columns)), "y"])
    rows = [",".join([*(f"v{(row * 7 + k) % 60}" for k in range(columns)), str(row % 2)]) for row in range(300)]
    stream = inferred("\n".join([names, *rows, ""]))
    assert stream.n_features == width


def test_a_date_has_at_most_forty_characters():
    """LONGEST."""
    assert dates.is_like_date("2020-" + "1" * 35)
    assert not dates.is_like_date("2020-" + "1" * 36)
