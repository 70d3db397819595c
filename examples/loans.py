"""A table as people have it: text, dates, an id, missing values; learned in Python, then from a file.

python examples/loans.py
"""

import csv
import datetime
import random
import tempfile
from pathlib import Path

import pocketkernel
from pocketkernel import TableClassifier

draw = random.Random(0)
PURPOSES = ["car", "home", "study", "other"]


def loan(number):
    """A loan, and whether it was repaid."""
    amount, income = draw.lognormvariate(9, 0.6), draw.lognormvariate(10.3, 0.5)
    row = {
        "id": f"L{number:06}",
        "opened": datetime.date(2025, draw.randint(1, 12), draw.randint(1, 28)),
        "amount": round(amount, 2),
        "income": None if draw.random() < 0.08 else round(income),
        "purpose": draw.choice(PURPOSES),
        "owns_home": draw.random() < 0.6,
    }
    score = income / amount / 4 + 0.6 * row["owns_home"] - 0.7 * (row["purpose"] == "other")
    return row, "yes" if score + draw.gauss(0, 0.5) > 1.4 else "no"


rows, repaid = map(list, zip(*(loan(number) for number in range(6_000)), strict=True))
model = TableClassifier(memory="64KiB", label="repaid", random_state=0)
scores = model.predict_then_learn(rows[:5_000], repaid[:5_000])  # each row is scored, then learned
for column, what in model.schema_.items():
    print(f"{column:<10}{what}")
wrong = sum((score >= 0) != (label == "yes") for score, label in zip(scores, repaid, strict=False))
print(f"{wrong / 5_000:.1%} mistakes on the stream, in {model.nbytes:,} bytes")

with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "loans.pk")
    same = pocketkernel.load(Path(folder) / "loans.pk")
    more = Path(folder) / "more.csv"
    with more.open("w", newline="") as file:
        table = csv.DictWriter(file, [*rows[0], "repaid"])
        table.writeheader()
        table.writerows(row | {"repaid": label} for row, label in zip(rows[5_000:], repaid[5_000:], strict=True))
    same.partial_fit(more)  # a file of further rows, with their labels

model.partial_fit(rows[5_000:], repaid[5_000:])
print("the same bits from dicts and from a file:", same.learner_.to_bytes() == model.learner_.to_bytes())
print("a purpose that no loan had before:", model.predict({"amount": 3_000, "income": 60_000, "purpose": "boat"})[0])
