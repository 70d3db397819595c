"""Tables as people find them: mixed types, missing values, dates, ids, and the ways of writing of several countries."""

import csv
import io

import numpy as np


def _text(head, rows, delimiter=","):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()


def titanic(rows=891, seed=0):
    """Ids, names, missing ages and cabins; women and the first class survive more often."""
    rng = np.random.default_rng(seed)
    table = []
    for number in range(1, rows + 1):
        place, sex, age = rng.choice([1, 2, 3], p=[0.24, 0.21, 0.55]), rng.choice(["male", "female"]), rng.gamma(5, 6)
        survived = 3 * (sex == "female") - (place - 2) - 0.03 * (age - 30) - 1.5 + rng.logistic() > 0
        title = "Mr." if sex == "male" else "Mrs."
        cabin = f"C{rng.integers(150)}" if rng.random() < 0.2 else ""
        table.append(
            [
                number, int(survived), place, f"Family{rng.integers(600)}, {title} Given{number}", sex,
                "" if rng.random() < 0.2 else round(age), rng.poisson(0.5),
                f"PC {rng.integers(10**6)}", f"{np.exp(rng.normal(4.3 - 0.8 * place, 0.5)):.4f}", cabin,
                rng.choice(["S", "C", "Q"], p=[0.72, 0.19, 0.09]),
            ]
        )  # fmt: skip
    head = ["PassengerId", "Survived", "Pclass", "Name", "Sex", "Age", "SibSp", "Ticket", "Fare", "Cabin", "Embarked"]
    return _text(head, table).encode()


def penguins(rows=344, seed=0):
    """As R writes it: row names without a name of their own, NA, and three species in their order."""
    rng = np.random.default_rng(seed)
    kinds = {"Adelie": (38.8, 18.3, 190, 3700), "Chinstrap": (48.8, 18.4, 196, 3733), "Gentoo": (47.5, 15, 217, 5076)}
    islands = {"Adelie": ["Torgersen", "Biscoe", "Dream"], "Chinstrap": ["Dream"], "Gentoo": ["Biscoe"]}
    lines = ['"species","island","bill_length_mm","bill_depth_mm","flipper_length_mm","body_mass_g","sex","year"']
    for number in range(1, rows + 1):
        kind = str(rng.choice(list(kinds)))
        sizes = [f"{x * (1 + 0.05 * rng.normal()):.1f}" for x in kinds[kind]]
        sizes = [x if rng.random() > 0.02 else "NA" for x in sizes[:2]] + [x.split(".")[0] for x in sizes[2:]]
        sex = rng.choice(["male", "female", "NA"], p=[0.49, 0.49, 0.02])
        sex = sex if sex == "NA" else f'"{sex}"'
        cells = [
            f'"{number}"',
            f'"{kind}"',
            f'"{rng.choice(islands[kind])}"',
            *sizes,
            sex,
            rng.choice([2007, 2008, 2009]),
        ]
        lines.append(",".join(map(str, cells)))
    return "\n".join(lines).encode() + b"\n"


def diamonds(rows=3000, seed=0):
    """Three categories with 5, 7 and 8 levels, and an index without a name."""
    rng = np.random.default_rng(seed)
    cuts, colours = ["Fair", "Good", "Very Good", "Premium", "Ideal"], list("DEFGHIJ")
    clarities = ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"]
    table = []
    for number in range(1, rows + 1):
        cut, carat = rng.choice(5, p=[0.05, 0.1, 0.2, 0.25, 0.4]), np.exp(rng.normal(-0.4, 0.5))
        size = 6.4 * carat ** (1 / 3)
        x, y, z = size * (1 + 0.01 * rng.normal(size=3)) * [1, 1, 0.617]
        depth, width = (
            61.7 + [3, 1.5, 0.3, -0.5, 0][cut] + rng.normal() * [1.5, 1, 0.7, 0.5, 0.4][cut],
            60 - cut + rng.normal(),
        )
        colour, clarity = rng.integers(7), rng.integers(8)
        price = int(4000 * carat**1.7 * (1 - 0.06 * colour) * (1 + 0.08 * clarity))
        table.append(
            [
                number,
                f"{carat:.2f}",
                cuts[cut],
                colours[colour],
                clarities[clarity],
                f"{depth:.1f}",
                f"{width:.0f}",
                price,
            ]
            + [f"{v:.2f}" for v in (x, y, z)]
        )
    return _text(["", *["carat", "cut", "color", "clarity", "depth", "table", "price", "x", "y", "z"]], table).encode()


def loans(rows=1500, seed=0):
    """As a German spreadsheet writes it: Latin-1, semicolons, decimal commas, thousands, dates, Booleans, an id."""
    rng = np.random.default_rng(seed)
    purposes = ["Auto", "Küche", "Urlaub", "Möbel", "Umschuldung"]
    table = []
    for _ in range(rows):
        amount, rate, income = rng.gamma(3, 4000), rng.uniform(2, 14), rng.gamma(4, 900)
        purpose, owner = rng.integers(5), rng.random() < 0.4
        bad = 0.25 * (rate - 8) + 0.0001 * (amount - 12_000) - 0.0006 * (income - 3600) - owner + (purpose == 4)
        bad = bad + rng.logistic() > 0.6
        day, month, year = rng.integers(1, 29), rng.integers(1, 13), rng.integers(2015, 2024)
        euros = f"{amount:,.2f}".translate(str.maketrans(",.", ".,"))
        table.append(
            [
                f"{rng.integers(16**12):012x}", f"{day:02}.{month:02}.{year}", euros, f"{rate:.2f} %".replace(".", ","),
                "-" if rng.random() < 0.1 else f"{income:.2f}".replace(".", ","), purposes[purpose],
                "True" if owner else "False", "EUR", "ausgefallen" if bad else "bezahlt",
            ]
        )  # fmt: skip
    head = "Vertrag,Datum,Betrag,Zinssatz,Einkommen,Verwendungszweck,Eigentümer,Währung,Status"
    return _text(head.split(","), table, ";").encode("latin-1")
