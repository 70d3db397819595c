"""The WebAssembly package in node, and the playground in a real browser."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import chromium
import pocketkernel as pk
from pocketkernel.learners import raw_scores

WEB = Path(__file__).parents[1] / "web"

pytestmark = [
    pytest.mark.skipif(not WEB.is_dir(), reason="needs the folder web of the repository"),
    pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs ziglang, which compiles WebAssembly"),
]
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """web/dist, built from the present sources in a folder of its own."""
    folder = tmp_path_factory.mktemp("web")
    shutil.copytree(WEB, folder / "web", ignore=shutil.ignore_patterns("dist"))
    shutil.copytree(WEB.parent / "core", folder / "core")
    shutil.copyfile(WEB.parent / "LICENSE", folder / "LICENSE")
    subprocess.run([sys.executable, folder / "web" / "build.py"], check=True, capture_output=True)
    return folder / "web" / "dist"


def node(dist, script, *arguments, level="pocketkernel"):
    """What a script prints, as JSON; `m` is the package, with the module of this level."""
    text = f"""
        import {{ readFileSync, writeFileSync }} from "node:fs";
        import * as m from "{(dist / "pocketkernel" / "pocketkernel.js").as_uri()}";
        const [level, ...given] = process.argv.slice(1);
        await m.init(readFileSync(level));
        {script}
    """
    module = dist / "pocketkernel" / f"{level}.wasm"
    command = ["node", "--input-type=module", "-e", text, str(module), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def stream(rows=600, classes=3):
    X = np.random.default_rng(1).normal(size=(rows, 3))
    return X, np.digitize(X[:, 0] * X[:, 1] + X[:, 2], np.linspace(-0.7, 0.7, classes - 1))


@needs_node
@pytest.mark.parametrize("level", ["pocketkernel", "pocketkernel-scalar"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_of_python_goes_on_in_javascript_and_back(dist, tmp_path, level, classes):
    X, y = stream(classes=classes)
    model = pk.PocketClassifier(memory="16KiB", random_state=2**63 + 5).partial_fit(X[:300], y[:300])
    model.save(tmp_path / "a.pk")
    (tmp_path / "rows.json").write_text(
        json.dumps({"rows": X[300:450].ravel().tolist(), "labels": y[300:450].tolist()})
    )
    script = """
        const model = m.PocketClassifier.load(readFileSync(given[0]));
        const { rows, labels } = JSON.parse(readFileSync(given[1]));
        const first = [...model.score(rows.slice(0, 3))];
        const guesses = [...model.learnMany(rows, labels)];
        writeFileSync(given[2], model.save());
        console.log(JSON.stringify({ first, guesses, report: model.report(), nbytes: model.nbytes }));
    """
    seen = node(dist, script, tmp_path / "a.pk", tmp_path / "rows.json", tmp_path / "b.pk", level=level)
    assert seen["first"] == raw_scores(model, X[300:301]).ravel().tolist()
    assert seen["nbytes"] <= model.nbytes
    model.partial_fit(X[300:450], y[300:450])
    back = pk.load(tmp_path / "b.pk")
    assert back.to_bytes() == model.to_bytes()
    assert seen["report"]["rows"] == 450 and seen["report"]["weights"] == model.kernel_weights_.tolist()
    model.partial_fit(X[450:], y[450:])
    assert back.partial_fit(X[450:], y[450:]).to_bytes() == model.to_bytes()


@needs_node
@pytest.mark.parametrize(
    ("memory", "labels"),
    [("2KiB", [0, 1]), ("4KiB", ["a", "b\u00e9", "c"]), ("16KiB", [-3, 7]), ("64KiB", ["n", "y"]), ("1MiB", [0, 1, 2])],
)
def test_a_model_of_javascript_loads_in_python(dist, tmp_path, memory, labels):
    X, y = stream(300, len(labels))
    (tmp_path / "rows.json").write_text(
        json.dumps({"rows": X.ravel().tolist(), "labels": y.tolist(), "classes": labels})
    )
    script = """
        const { rows, labels, classes } = JSON.parse(readFileSync(given[0]));
        const model = new m.PocketClassifier({ features: 3, classes, memory: given[2], seed: 4 });
        model.learnMany(rows, labels);
        writeFileSync(given[1], model.save());
        console.log(JSON.stringify([...model.scoreMany(rows)]));
    """
    scores = node(dist, script, tmp_path / "rows.json", tmp_path / "a.pk", memory)
    model = pk.load(tmp_path / "a.pk")
    assert model.classes_.tolist() == labels
    assert raw_scores(model, X).ravel().tolist() == scores
    assert model.nbytes <= pk.memory.parse_bytes(memory)
    model.partial_fit(X, np.array(labels)[y])


def quantities(rows=600, outputs=1):
    """Rows with missing values, and targets of another level and unit each."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(rows, 3))
    y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=rows) / 4] * outputs)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, (y * 10.0 ** np.arange(outputs) + 100.0).reshape((rows,) if outputs == 1 else (rows, outputs))


@needs_node
@pytest.mark.parametrize("level", ["pocketkernel", "pocketkernel-scalar"])
@pytest.mark.parametrize(
    ("outputs", "given"), [(1, {}), (3, {"loss": "absolute"}), (1, {"loss": "quantile", "quantile": 0.8})]
)
def test_a_regressor_of_python_goes_on_in_javascript_and_back(dist, tmp_path, level, outputs, given):
    X, y = quantities(outputs=outputs)
    model = pk.PocketRegressor(memory="16KiB", random_state=2**63 + 5, **given).partial_fit(X[:300], y[:300])
    model.save(tmp_path / "a.pk")
    rows = [[None if np.isnan(value) else value for value in row] for row in X[300:450].tolist()]
    (tmp_path / "rows.json").write_text(json.dumps({"rows": rows, "targets": y[300:450].reshape(150, -1).tolist()}))
    script = """
        const model = m.PocketRegressor.load(readFileSync(given[0]));
        const { rows, targets } = JSON.parse(readFileSync(given[1]));
        const missing = rows.map((row) => row.map((value) => value ?? NaN)), all = missing.flat();
        const predicted = [...model.predict(missing[0]), ...model.predictMany(all)];
        const intervals = [0.9, 0.5, 0.33].map((coverage) => [...model.interval(missing[1], coverage)]);
        const first = missing.slice(0, 50).map((row, n) => [...model.learn(row, targets[n])]).flat();
        const rest = [...model.predictThenLearn(missing.slice(50).flat(), targets.slice(50).flat())];
        writeFileSync(given[2], model.save());
        const { nbytes, outputs, features, budget, memory } = model;
        console.log(JSON.stringify({ predicted, intervals, learned: [...first, ...rest], margins: [...model.margins()],
            report: model.report(), sizes: [outputs, features, budget, memory], nbytes }));
    """
    seen = node(dist, script, tmp_path / "a.pk", tmp_path / "rows.json", tmp_path / "b.pk", level=level)
    assert seen["predicted"] == [*model.predict(X[300:301]).ravel(), *model.predict(X[300:450]).ravel()]
    for coverage, interval in zip((0.9, 0.5, 0.33), seen["intervals"], strict=True):
        assert interval == model.predict_interval(X[301:302], coverage).ravel().tolist()
    assert seen["learned"] == model.predict_then_learn(X[300:450], y[300:450]).ravel().tolist()
    assert seen["margins"] == model.margins().ravel().tolist()
    assert seen["sizes"] == [outputs, 3, model.budget_, "16KiB"] and seen["nbytes"] <= model.nbytes
    assert seen["report"]["rows"] == 450 and seen["report"]["weights"] == model.kernel_weights_.tolist()
    assert seen["report"]["loss"] == model.diagnostics_["cumulative_loss"] and "mistakes" not in seen["report"]
    back = pk.load(tmp_path / "b.pk")
    assert back.to_bytes() == model.to_bytes()
    assert back.partial_fit(X[450:], y[450:]).to_bytes() == model.partial_fit(X[450:], y[450:]).to_bytes()


@needs_node
@pytest.mark.parametrize(
    ("memory", "given"),
    [
        ("3KiB", {}), ("4KiB", {"loss": "absolute"}), ("16KiB", {"outputs": 4}),
        ("64KiB", {"loss": "quantile", "quantile": 0.1}), ("1MiB", {"outputs": 2}),
    ],
)  # fmt: skip
def test_a_regressor_of_javascript_loads_in_python(dist, tmp_path, memory, given):
    outputs = given.get("outputs", 1)
    X, y = quantities(300, outputs)
    X = np.nan_to_num(X)
    (tmp_path / "rows.json").write_text(json.dumps({"rows": X.ravel().tolist(), "targets": y.ravel().tolist()}))
    script = """
        const { rows, targets } = JSON.parse(readFileSync(given[0]));
        const model = new m.PocketRegressor({ features: 3, memory: given[2], seed: 4, ...JSON.parse(given[3]) });
        model.predictThenLearn(rows, targets);
        writeFileSync(given[1], model.save());
        console.log(JSON.stringify([...model.predictMany(rows)]));
    """
    predicted = node(dist, script, tmp_path / "rows.json", tmp_path / "a.pk", memory, json.dumps(given))
    model = pk.load(tmp_path / "a.pk")
    assert model.predict(X).ravel().tolist() == predicted
    assert model.n_outputs_ == outputs and model.nbytes <= pk.memory.parse_bytes(memory)
    own = {name: value for name, value in given.items() if name != "outputs"}
    ours = pk.PocketRegressor(memory=memory, random_state=4, **own)
    assert model.get_params() == ours.get_params() | {"memory": memory}
    model.partial_fit(X, y)


@needs_node
def test_bad_files_and_arguments(dist, tmp_path):
    X, y = stream()
    pk.MOMDS(memory="16KiB", random_state=0).fit(X, y > 0).save(tmp_path / "momds.pk")
    pk.PocketClassifier(memory="16KiB", dtype="float64", random_state=0).fit(X, y).save(tmp_path / "double.pk")
    good = pk.PocketClassifier(memory="16KiB", random_state=0).fit(X, y).to_bytes()
    (tmp_path / "damaged.pk").write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    (tmp_path / "short.pk").write_bytes(good[:-1])
    script = """
        const model = new m.PocketClassifier({ features: 2, memory: "4KiB" });
        const tries = given.map((path) => () => m.PocketClassifier.load(readFileSync(path)));
        tries.push(() => new m.PocketClassifier({ features: 2, memory: "100B" }), () => model.learn([1, Infinity], 0),
            () => model.learn([1, 2], 2), () => model.learn([1], 0), () => new m.PocketClassifier({ features: 0 }),
            () => new m.PocketClassifier({ features: 1, classes: ["b", "a"] }), () => m.parseBytes("many"));
        const said = (one) => { try { one(); return "fine"; } catch (error) { return error.message; } };
        console.log(JSON.stringify(tries.map(said)));
    """
    names = ("momds.pk", "double.pk", "damaged.pk", "short.pk")
    words = (
        "MOMDS, not a PocketClassifier: only PocketClassifier and PocketRegressor run here",
        "double precision", "checksum", "truncated", "too small", "X contains NaN or infinity",
        "labels[0]=2 is not a class", "2 values", "features=0", "ascending", 'memory="many"',
    )  # fmt: skip
    messages = node(dist, script, *(tmp_path / name for name in names))
    assert len(messages) == len(words)
    for message, word in zip(messages, words, strict=True):
        assert word in message


# Calls of models with two columns, a classifier `x` and a regressor `r`, and the error of each.
REFUSED = {
    **{f"x.learn([1, 2], {one})": f"RangeError: labels[0]={one} is not a class" for one in ("NaN", "-1", "2", "1.9")},
    "x.learn([1, 2], 2 ** 32)": "RangeError: labels[0]=4294967296 is not a class",
    "x.learn([1, 2])": "TypeError: labels[0]=undefined is not a number",
    "x.learn([1, 2], null)": "TypeError: labels[0]=null is not a number",
    "x.learn([1, 2], true)": "TypeError: labels[0]=true is not a number",
    'x.learn([1, 2], "a")': 'TypeError: labels[0]="a" is not a number',
    "x.learn([1, 2], 1n)": "TypeError: labels[0]=1n is not a number",
    'x.learn("ab", 0)': "TypeError: rows is not an array of numbers",
    "x.learn([1, Infinity], 0)": "RangeError: X contains NaN or infinity",
    "x.learn([1, 1e300], 0)": "RangeError: X has a value whose square would overflow",
    "x.learnMany([1, 2])": "TypeError: labels is not an array of numbers",
    "x.learnMany([1, 2, 3, 4, 5, -Infinity], [0, 1, 0])": "RangeError: X contains NaN or infinity",
    "x.learnMany([1, 2, 3, 4, 5, 6], [0, 1, 2])": "RangeError: labels[2]=2 is not a class",
    "x.learnMany([1, 2, 3, 4, 5], [0, 1, 0])": "RangeError: 3 rows of 2 columns have 6 values, but 5",
    "x.learnMany(late, new Int32Array(9000))": "RangeError: X contains NaN or infinity",
    "x.scoreMany([1, 2, 3])": "RangeError: 2 rows of 2 columns have 4 values, but 3 were given",
    "x.scoreMany([1, 2], 1.5)": "RangeError: count=1.5 is not a number of rows",
    "x.scoreMany([1, 2], -1)": "RangeError: count=-1 is not a number of rows",
    "x.scoreMany([1, 2], '1')": 'RangeError: count="1" is not a number of rows',
    "x.score([1])": "RangeError: 1 rows of 2 columns have 2 values, but 1",
    "x.score([, 1])": "TypeError: rows[0]=undefined is not a number",
    "x.score([null, 1])": "TypeError: rows[0]=null is not a number",
    "x.score(['1', '2'])": 'TypeError: rows[0]="1" is not a number',
    "x.score([{}, 1])": "TypeError: rows[0]=(object) is not a number",
    "x.score(new BigInt64Array(2))": "TypeError: rows[0]=0n is not a number",
    "x.score(new DataView(new ArrayBuffer(2)))": "TypeError: rows is not an array of numbers",
    "x.score({ length: 2 })": "TypeError: rows is not an array of numbers",
    "x.score(gone)": "RangeError: 1 rows of 2 columns have 2 values, but 0",
    "x.predict()": "TypeError: rows is not an array of numbers",
    "x.featureNames = ['a'], x.save()": "TypeError: featureNames are not the names of 2 columns",
    "m.PocketClassifier.load('model.pk')": "TypeError: a model is read from its bytes",
    "m.PocketClassifier.load(gone)": "TypeError: a model is read from its bytes",
    "m.PocketClassifier.load(new Uint8Array(7))": "TypeError: this is not a model file of pocketkernel",
    "m.parseBytes([4096])": "RangeError: memory=(object) is not a number of bytes",
    **{f"new m.PocketClassifier({{ features: 2, {option} }})": error for option, error in {
        "classes: 1": "RangeError: classes=1 is not a number of classes",
        "classes: 1e9": "RangeError: classes=1000000000 is not a number of classes",
        "classes: 2.5": "RangeError: classes=2.5 is not a number of classes",
        "classes: '3'": 'RangeError: classes="3" is not a number of classes',
        "classes: ['a']": "RangeError: classes has 1 labels",
        "classes: [0.5, 1.5]": "TypeError: classes must be all whole numbers or all strings",
        "classes: [1, 'a']": "TypeError: classes must be all whole numbers or all strings",
        r"classes: ['a\0', 'b']": "RangeError: classes has strings that are too long, or end with a null character",
        r"classes: ['\u{1f600}', '\ufffd']": "RangeError: classes must be in ascending order",
        "seed: -1": "RangeError: seed=-1 is not a whole number",
        "seed: 1.5": "RangeError: seed=1.5 is not a whole number",
        "seed: 2n ** 64n": "RangeError: seed=18446744073709551616n is not a whole number",
        "memory: 4096.5": "RangeError: memory=4096.5 is not a number of bytes",
        "lag: 1": "TypeError: lag=1 is neither true nor false",
        "linear: 'no'": 'TypeError: linear="no" is neither true nor false',
    }.items()},
    **{f"r.learn([1, 2], {one})": f"RangeError: targets[0]={one} is not a finite number up to 1e70"
       for one in ("NaN", "Infinity", "-Infinity", "1e+71")},
    "r.learn([1, 2])": "TypeError: targets[0]=undefined is not a number",
    "r.learn([1, 2], 'a')": 'TypeError: targets[0]="a" is not a number',
    "r.learn([1, 2], null)": "TypeError: targets[0]=null is not a number",
    "r.learn([1, 2], [])": "RangeError: 0 targets are not 1 for each row",
    "r.learn([1, 2], [3, 4])": "RangeError: 2 targets are not 1 for each row",
    "r.learn([1, Infinity], 0)": "RangeError: X contains NaN or infinity",
    "r.learn([1, 2, 3], 0)": "RangeError: 1 rows of 2 columns have 2 values, but 3",
    "r.predictThenLearn([1, 2])": "TypeError: targets is not an array of numbers",
    "r.predictThenLearn([1, 2, 3, 4], [1, 'a'])": 'TypeError: targets[1]="a" is not a number',
    "r.predictThenLearn([1, 2, 3, 4], [1, NaN])": "RangeError: targets[1]=NaN is not a finite number",
    "r.predictThenLearn([1, 2, 3, 4], [1])": "RangeError: 1 rows of 2 columns have 2 values, but 4",
    "r.predictThenLearn(late, new Float64Array(9000))": "RangeError: X contains NaN or infinity",
    "r.predictMany([1, 2, 3])": "RangeError: 2 rows of 2 columns have 4 values, but 3 were given",
    "r.predict(['1', '2'])": 'TypeError: rows[0]="1" is not a number',
    **{f"r.interval([1, 2], {one})": f"RangeError: coverage={one} is not a share from 0.01 to 0.999"
       for one in ("0", "1", "NaN", '"0.9"', "null")},
    "m.PocketRegressor.load(x.save())": "TypeError: the file contains a PocketClassifier, not a PocketRegressor: use",
    "m.PocketClassifier.load(r.save())": "TypeError: the file contains a PocketRegressor, not a PocketClassifier: use",
    **{f"new m.PocketRegressor({{ features: 2, {option} }})": error for option, error in {
        "outputs: 0": "RangeError: outputs=0 is not a number of targets",
        "outputs: 1001": "RangeError: outputs=1001 is not a number of targets",
        "loss: 'log'": 'RangeError: loss="log" is not one of "squared", "absolute", "quantile"',
        "loss: 'toString'": 'RangeError: loss="toString" is not one of',
        "loss: 'quantile', quantile: 1": "RangeError: quantile=1 is not a number from 0.001 to 0.999",
        "quantile: '0.5'": 'RangeError: quantile="0.5" is not a number',
        "seed: -1": "RangeError: seed=-1 is not a whole number",
        "memory: '500B'": "RangeError: memory=500 bytes is too small: use at least",
    }.items()},
    "new m.PocketRegressor()": "RangeError: features=undefined is not a number of columns",
    "new m.PocketClassifier({ features: 2 ** 32 + 3 })": "RangeError: features=4294967299 is not a number of columns",
    "new m.PocketClassifier({ features: 1e6, classes: 10000, linear: true })": "RangeError: a model of Infinity bytes",
}  # fmt: skip


@needs_node
def test_what_is_refused_changes_nothing(dist):
    """Each with a clear error, and the next row is learned as if nothing had happened."""
    script = """
        const gone = new Float64Array(2), late = new Float64Array(18000).fill(1, 0, 17999).fill(Infinity, 17999);
        structuredClone(gone.buffer, { transfer: [gone.buffer] });
        const make = (kind) => new m[kind]({ features: 2, memory: "4KiB" });
        const same = (one, other) => {
            one.featureNames = null;
            one.learn([0.5, 1.5], 1), other.learn([0.5, 1.5], 1);
            return one.report().rows === 1 && Buffer.compare(one.save(), other.save()) === 0;
        };
        const said = JSON.parse(given[0]).map((call) => {
            const x = make("PocketClassifier"), r = make("PocketRegressor");
            let error = "nothing";
            try { eval(call); } catch (raised) { error = String(raised); }
            return [error, same(x, make("PocketClassifier")) && same(r, make("PocketRegressor"))];
        });
        console.log(JSON.stringify(said));
    """
    for (call, error), (said, same) in zip(REFUSED.items(), node(dist, script, json.dumps(list(REFUSED))), strict=True):
        assert said.startswith(error), (call, said)
        assert said.endswith(".") and same, call


@needs_node
def test_rows_of_every_kind_of_array(dist):
    script = """
        const model = new m.PocketClassifier({ features: 2, memory: "4KiB", seed: 2n ** 64n - 1n });
        const kinds = [Array, Float64Array, Float32Array, Int8Array, Uint8Array, Uint32Array];
        model.learnMany(new Int8Array([1, 2, 5, 3]), new Uint8Array([0, 1]));
        const shared = new Float64Array(new SharedArrayBuffer(16));
        shared.set([1, 2]);
        const all = [...kinds.map((kind) => kind.from([1, 2])), shared].map((row) => [...model.score(row)]);
        const same = m.PocketClassifier.load(new DataView(model.save().buffer)).score([1, 2]);
        console.log(JSON.stringify([all, [...same], [...model.scoreMany([])], [...model.learnMany([], [])]]));
    """
    all_, same, *none = node(dist, script)
    assert all(scores == same for scores in all_) and same[0] != same[1] and none == [[], []]


@needs_node
def test_labels_that_arrive_later_and_weights_of_classes(dist, tmp_path):
    """Places of labels are those of the core; a model that weighs its classes predicts, but does not learn."""
    X, y = stream(300, 3)
    names = np.array(["c", "a", "b"])
    model = pk.PocketClassifier(memory="8KiB", n_classes=4, random_state=0).partial_fit(X[:1], names[y[:1]])
    model.partial_fit(X[1:], names[y[1:]]).save(tmp_path / "late.pk")
    weighed = pk.PocketClassifier(memory="8KiB", class_weight="balanced", random_state=0).partial_fit(X, y)
    weighed.save(tmp_path / "weighed.pk")
    (tmp_path / "rows.json").write_text(json.dumps(X.ravel().tolist()))
    script = """
        const [late, weighed] = given.map((path) => m.PocketClassifier.load(readFileSync(path)));
        const rows = JSON.parse(readFileSync(given[2]));
        const predicted = (model) => Array.from({ length: 300 }, (_, n) => model.predict(rows.slice(3 * n, 3 * n + 3)));
        const error = (call) => { try { call(); } catch (raised) { return raised.message; } };
        console.log(JSON.stringify([late.labels, predicted(late), predicted(weighed),
            error(() => late.learn([1, 2, 3], 3)), error(() => weighed.learn([1, 2, 3], 0))]));
    """.replace("given.map", "given.slice(0, 2).map")
    labels, late, other, *errors = node(
        dist, script, tmp_path / "late.pk", tmp_path / "weighed.pk", tmp_path / "rows.json"
    )
    assert sorted(labels[:3]) == ["a", "b", "c"] and labels[3] is None
    assert [labels[place] for place in late] == model.predict(X).tolist()
    assert other == weighed.predict(X).tolist()
    assert "labels[0]=3 is not a class" in errors[0] and "class_weight" in errors[1]


@needs_node
def test_files_are_accepted_as_in_python(dist):
    """Thousands of mutated ones: no trap, and both accept the same, with the same scores after three more rows."""
    fuzz_web = pytest.importorskip("fuzz_web")
    counts, differences = fuzz_web.compared(dist, 0.1)
    assert not differences, differences[:5]
    assert counts["accepted", "accepted"] > 300 and counts["refused", "refused"] > 1000


@pytest.mark.skipif(shutil.which("tsc") is None, reason="needs tsc (Debian: node-typescript)")
def test_types(tmp_path):
    """The declarations are those of the module: a program that uses all of them compiles, and a wrong one does not."""
    package = WEB / "package"
    for name in ("pocketkernel.d.ts", "pocketkernel.js", "model_file.js", "package.json"):
        (tmp_path / "node_modules" / "pocketkernel").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(package / name, tmp_path / "node_modules" / "pocketkernel" / name)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "good.ts").write_text(
        """
        import {
            init, parseBytes, PocketClassifier, PocketRegressor, type Options, type RegressorOptions,
            type RegressorReport, type Report,
        } from "pocketkernel";
        await init(); await init("a.wasm"); await init(new URL("file:///a.wasm")); await init(new Uint8Array(8));
        const options: Options = { features: 2, classes: ["no"], memory: "16KiB", seed: 1, lag: false, linear: true };
        const model = new PocketClassifier(options);
        const other = new PocketClassifier({ features: parseBytes("2KiB"), classes: 3, memory: 4096 });
        const sizes: number = model.features + model.classes + model.nbytes + model.budget;
        const names: string[] = model.experts;
        const labels: ReadonlyArray<number | string | boolean | bigint | null> = model.labels;
        other.featureNames = ["a", "b"];
        const guess: number = model.learn([0.2, NaN], 1) + model.predict(new Float32Array(2));
        const guesses: Int32Array = model.learnMany(new Float64Array(4), new Int32Array(2));
        const scores: Float64Array = model.scoreMany([1, 2, 3, 4], 2);
        const report: Report = model.report();
        const weight: number = report.weights[0] + report.rows + report.mistakes + report.loss + model.score([1, 2])[0];
        const same: PocketClassifier = PocketClassifier.load(model.save());
        console.log(sizes, names, labels, guess, guesses, scores, weight, same, model.lag, model.memory);
        const level: RegressorOptions = { features: 2, loss: "quantile", quantile: 0.9 };
        const regressor = new PocketRegressor({ ...level, outputs: 2, memory: 4096, seed: 1n });
        const [answer]: Float64Array = regressor.learn([1, 2], [3, 4]);
        const answers: Float64Array = regressor.predictThenLearn([1, 2], [3, 4]);
        const [low, high]: Float64Array = regressor.interval([1, 2], 0.8);
        const told: RegressorReport = regressor.report();
        const both: number = regressor.outputs + regressor.predict([1, 2])[0] + regressor.margins()[0] + told.loss;
        const again: PocketRegressor = PocketRegressor.load(new PocketRegressor({ features: 1 }).save());
        console.log(answer, answers, low, high, both, again.learn([1], 2), regressor.predictMany([1, 2], 1));
        """
    )
    (tmp_path / "bad.ts").write_text(
        """
        import { PocketClassifier, PocketRegressor } from "pocketkernel";
        const model = new PocketClassifier({ memory: 4096 });
        model.nbytes = 3;
        model.learn("row", 1);
        model.learn([1, 2], "a");
        const regressor = new PocketRegressor({ features: 2, loss: "log" });
        regressor.learn([1, 2], "a");
        regressor.report().mistakes;
        """
    )
    options = "--noEmit --strict --target es2022 --module node16 --moduleResolution node16"

    def compiled(*names):
        command = ["tsc", *options.split(), *names]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    good = compiled("good.ts", "node_modules/pocketkernel/pocketkernel.d.ts")
    assert good.returncode == 0, good.stdout
    bad = (tmp_path / "bad.ts").read_text().strip().splitlines()
    assert re.findall(r"bad.ts\((\d+),", compiled("bad.ts").stdout) == [str(n + 2) for n in range(1, len(bad))]
    # What is declared is there, and nothing else is.
    declared, written = ((package / f"pocketkernel.{kind}").read_text() for kind in ("d.ts", "js"))
    for name in ("Pocket", "PocketClassifier", "PocketRegressor"):
        types, code = (
            re.search(rf"^(?:export |declare )?(?:abstract )?class {name}\b.*?^}}", text, re.MULTILINE | re.DOTALL)[0]
            for text in (declared, written)
        )
        methods = re.findall(r"^    (?:static |get )?(?!constructor)(\w+)\(.*{$", code, re.MULTILINE)
        fields = re.findall(r"\bthis\.(\w+) = ", code)
        found = re.findall(r"^    (?:static |readonly )?(?!constructor)(\w+)[(:?]", types, re.MULTILINE)
        assert set(found) == {*methods, *fields}, name


# ---- playground -----------------------------------------------------------------------------------------------------

needs_browser = pytest.mark.skipif(chromium.find() is None, reason="needs Chromium")


@pytest.fixture(scope="module")
def browser():
    with chromium.Browser(chromium.find()) as browser:
        yield browser


def value(browser, expression):
    return json.loads(browser.evaluate(f"JSON.stringify({expression})"))


def until(browser, expression, seconds=90):
    end = time.monotonic() + seconds
    while not value(browser, expression):
        assert time.monotonic() < end, f"never {expression}"
        time.sleep(0.1)


def choose(browser, control, setting, event="change"):
    it = f"document.getElementById('{control}')"
    browser.evaluate(f"{it}.value = '{setting}'; {it}.dispatchEvent(new Event('{event}'))")


def click(browser, control):
    browser.evaluate(f"document.getElementById('{control}').click()")


def open_playground(browser, dist, **how):
    browser.open(dist / "playground.html", **how)
    until(browser, "'playground' in globalThis")


ROWS = "playground.state.history.ours.rows"
LEARNED = "playground.state.history.rows"  # those that do not count, too


@needs_browser
def test_playground(dist, browser, tmp_path):
    open_playground(browser, dist)
    choose(browser, "speed", 6, "input")
    for name in ("rings", "xor", "spiral", "drifting", "multi", "moons"):
        choose(browser, "stream", name)
        until(browser, f"{ROWS} >= 1500")
    ours, linear = (value(browser, f"playground.state.history.{name}.recent") for name in ("ours", "first"))
    assert ours < linear < 60
    # The labels change places: mistakes rise, then fall again.
    click(browser, "flip")
    flip = "playground.state.history.flips[0]"
    until(browser, f"playground.state.history.ours.recent < 10 && {ROWS} > {flip} + 400")
    after = value(browser, f"playground.state.history.chart.filter(([rows]) => rows > {flip}).map((one) => one[1])")
    assert max(after) > 0.02
    # The model is what Python would load.
    data = value(browser, "[...playground.state.model.save()]")
    model = pk.PocketClassifier.from_bytes(bytes(data))
    assert model.nbytes <= 16 * 1024 and model.diagnostics_["rounds"] >= 1500
    # Every size of memory.
    for step in (1, 10, 4):
        choose(browser, "memory", step, "input")
        until(browser, f"{ROWS} > 50")
        assert value(browser, "playground.state.model.nbytes") <= 1024 * 2**step
    click(browser, "compare")
    until(browser, "!document.getElementById('compare').disabled && playground.state.sizes.length == 10", 240)
    shares = value(browser, "playground.state.sizes.map((one) => one[1])")
    assert shares[-1] <= shares[0]
    # They were about that stream.
    choose(browser, "stream", "rings")
    texts = "[...document.querySelectorAll('#sizes .bar > :last-child')].map((one) => one.textContent)"
    assert value(browser, f"[playground.state.sizes.length, {texts}]") == [0, [""] * 10]
    until(browser, f"{ROWS} > 500 && playground.state.frames.length == 60")
    assert (
        browser.console == []
        and [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    )


@needs_browser
def test_playground_with_a_file(dist, browser):
    open_playground(browser, dist)
    X, y = stream(400)
    lines = ["a;b;c;text;kind", *(f"{a};{b};{c};x;{'pqr'[k]}" for (a, b, c), k in zip(X, y, strict=True))]
    text = json.dumps("\n".join(lines))
    browser.evaluate(f"playground.useTable({text})")
    until(browser, f"{ROWS} == 400")
    assert "400 rows, 3 columns, 3 classes" in value(browser, "document.getElementById('note').textContent")
    model = pk.PocketClassifier.from_bytes(bytes(value(browser, "[...playground.state.model.save()]")))
    assert model.classes_.tolist() == ["p", "q", "r"] and model.feature_names_in_.tolist() == ["a", "b", "c"]
    # Another size begins again with the first row, and compares the same rows.
    choose(browser, "memory", 5, "input")
    until(browser, f"{ROWS} == 400")
    model = pk.PocketClassifier.from_bytes(bytes(value(browser, "[...playground.state.model.save()]")))
    assert model.diagnostics_["rounds"] == 400 and model.feature_names_in_.tolist() == ["a", "b", "c"]
    click(browser, "compare")
    until(browser, "!document.getElementById('compare').disabled && playground.state.sizes.length == 10", 240)
    assert 0 < value(browser, "playground.state.sizes.at(-1)[1]") < 0.5 and value(browser, ROWS) == 400
    # And back: a model of Python goes on here.
    model.partial_fit(pd.DataFrame(X, columns=["a", "b", "c"]), np.array(["p", "q", "r"])[y])
    browser.evaluate(f"playground.useModel(new Uint8Array({list(model.to_bytes())}))")
    until(browser, "playground.state.model.report().rows == 1200")
    assert browser.console == []


def give(browser, control, path):
    """Choose a file, as the user does in the browser's window for that."""
    root = browser.call("DOM.getDocument")["root"]["nodeId"]
    node = browser.call("DOM.querySelector", nodeId=root, selector=f"#{control}")["nodeId"]
    browser.call("DOM.setFileInputFiles", files=[str(path)], nodeId=node)


@needs_browser
def test_playground_with_files_from_the_disk(dist, browser, tmp_path):
    """A CSV is read, the model is downloaded for Python, learns there and comes back; bad files are refused."""
    open_playground(browser, dist)
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    X, y = stream(300, 2)
    lines = ["\ufeffa,b,c,label", *(f"{a},{b},{c},{10 * k}" for (a, b, c), k in zip(X, y, strict=True))]
    (tmp_path / "rows.csv").write_text("\r\n".join(lines))
    give(browser, "csv", tmp_path / "rows.csv")
    until(browser, f"{ROWS} == 300")
    click(browser, "save")
    end = time.monotonic() + 60
    while not (tmp_path / "model.pk").exists():
        assert time.monotonic() < end
        time.sleep(0.1)
    model = pk.load(tmp_path / "model.pk")
    assert model.classes_.tolist() == [0, 10] and model.feature_names_in_.tolist() == ["a", "b", "c"]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model.partial_fit(frame, 10 * y).save(tmp_path / "more.pk")
    give(browser, "load", tmp_path / "more.pk")
    until(browser, "playground.state.model.report().rows == 900")
    note = "document.getElementById('note').textContent"
    bad = {
        "": "no rows", "a,b\n1,2\n": "no rows", "x,y\na,b\nc,d\n": "no columns of numbers",
        "a,b\n1,2\n2,2\n": "1 different labels",
    }  # fmt: skip
    for text, said in bad.items():
        browser.evaluate("document.getElementById('note').textContent = ''")
        (tmp_path / "bad.csv").write_text(text)
        give(browser, "csv", tmp_path / "bad.csv")
        until(browser, f"{note} !== ''")
        assert said in value(browser, note)
    give(browser, "load", tmp_path / "bad.csv")
    until(browser, f"{note}.includes('not a model file')")
    # The page goes on with what it had.
    click(browser, "restart")
    until(browser, f"{ROWS} == 300")
    assert browser.console == []


NOTE = "document.getElementById('note').textContent"
# What the page shows of a stream: texts, experts, and whether anything is drawn on the chart and the surface.
SHOWN = """(() => {
    const text = (id) => document.getElementById(id).textContent;
    const cell = (row, n) => document.querySelectorAll(`#${row} td`)[n].textContent;
    const pixels = (id) => {
        const canvas = document.getElementById(id), { width, height } = canvas;
        const pen = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
        pen.drawImage(canvas, 0, 0);
        return new Set(new Uint32Array(pen.getImageData(0, 0, width, height).data.buffer)).size;
    };
    return [cell("ours", 1), cell("first", 0), text("bytes"), document.getElementById("weights").children.length,
        [...document.querySelectorAll("#sizes .bar > :last-child")].map((one) => one.textContent).join(""),
        pixels("errors"), pixels("surface")];
})()"""
NOTHING = ["", "", "", 0, "", 1, 1]


def table(rows, header="a,b,label"):
    return "\n".join([header, *rows] if header else rows) + "\n"


@needs_browser
def test_playground_with_strange_tables(dist, browser):
    """Rows and columns that cannot be used are left out and counted; the rest is learned."""
    open_playground(browser, dist)
    choose(browser, "speed", 6, "input")
    signs = "\ufffd\U0001f600z"  # of which JavaScript has another order
    plain = [f"{n % 7},{n % 5},{'xy'[n % 2]}" for n in range(60)]
    whole, left = "60 rows, 2 columns, 2 classes.", "60 rows, 1 column, 2 classes. Left out: 1 column without numbers"
    kinds = ["xy"[n % 2] for n in range(60)]
    tables = {
        f"{whole} Left out: 1 row with text or too large a number": table([*plain, "Infinity,1,x"]),
        f"{whole} Left out: 2 rows with text or too large": table(["1,-Infinity,y", "1e300,1,x", *plain]),
        "59 rows, 2 columns, 2 classes. Left out: 2 rows with another number of cells; 1 row without a label.": table(
            [*plain[1:], "1,2", "1,2,3,x", "1,2,"]
        ),
        f"{left} (b).": table([f"{n % 7},,{kind}" for n, kind in enumerate(kinds)]),
        f"{left} (a).": table([f",{n % 7},{kind}" for n, kind in enumerate(kinds)]),
        "62 rows, 2 columns, 2 classes.": table([*plain, "1e36,-1e36,x", "-1e36,1e36,y"]),
        "60 rows, 2 columns, 3 classes.": table([f"{n},1e20,{signs[n % 3]}" for n in range(60)]),
        "4 rows, 130,000 columns, 2 classes.": table(["1.5," * 130_000 + str(n % 2) for n in range(4)], None),
    }
    for said, text in tables.items():
        browser.evaluate(f"playground.useTable({json.dumps(text)})")
        until(browser, f"playground.state.ended && {ROWS} == {said.split()[0]}")
        assert value(browser, NOTE).startswith(said), said
    assert browser.console == []


LABELS = "[...document.getElementById('label').options].map((one) => one.textContent)"
CHOSEN = "document.getElementById('label').selectedOptions[0].textContent"
HIDDEN = "document.getElementById('labels').hidden"


@needs_browser
def test_the_label_of_a_file_can_be_chosen(dist, browser, tmp_path):
    open_playground(browser, dist)
    choose(browser, "speed", 6, "input")
    assert value(browser, HIDDEN)
    X, _ = stream(300, 2)
    lines = [f'{a:.3f},{"uv"[int(b > 0)]},{b:.3f},"New York, {n % 3}",{n % 4}' for n, (a, b, _) in enumerate(X)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,Class,b,town,c", *lines]))
    give(browser, "csv", tmp_path / "rows.csv")
    until(browser, f"{ROWS} == 300")
    assert value(browser, f"[{LABELS}, {CHOSEN}, {HIDDEN}]") == [["a", "Class", "b", "town", "c"], "Class", False]
    assert value(browser, NOTE).startswith("300 rows, 3 columns, 2 classes. Left out: 1 column without numbers (town).")
    for place, labels in ((3, [f"New York, {n}" for n in range(3)]), (4, [0, 1, 2, 3])):
        choose(browser, "label", place)
        until(browser, f"playground.state.table.chosen == {place} && {ROWS} == 300")
        model = pk.PocketClassifier.from_bytes(bytes(value(browser, "[...playground.state.model.save()]")))
        assert model.classes_.tolist() == labels
    # A quantity is learned as one, and nothing of the classes stays.
    choose(browser, "label", 0)
    until(browser, f"playground.state.table.chosen == 0 && {LEARNED} == 300")
    assert value(browser, NOTE).startswith("300 rows, 2 columns, 1 quantity. a is a quantity, in the picture from ")
    model = pk.PocketRegressor.from_bytes(bytes(value(browser, "[...playground.state.model.save()]")))
    assert model.feature_names_in_.tolist() == ["b", "c"] and model.diagnostics_["rounds"] == 300
    choose(browser, "stream", "rings")
    assert value(browser, HIDDEN)
    assert browser.console == []


CELLS = """[...document.querySelectorAll("#ours, #first, #second, #inside")].filter((row) => !row.hidden)
    .map((row) => [...row.cells].map((cell) => cell.textContent))"""
TITLE = "[...document.querySelectorAll('#measure, #measure-of-sizes')].map((one) => one.textContent)"


def shortest(number):
    """Four digits of a number, as the page writes them."""
    return float(f"{number:.4g}")


@needs_browser
@pytest.mark.parametrize("columns", [2, 3])
def test_a_quantity_is_learned_as_one(dist, browser, tmp_path, columns):
    """Error, rivals, coverage and file are those of Python, row by row; charts are those of a quantity."""
    open_playground(browser, dist)
    choose(browser, "speed", 6, "input")
    X, y = quantities(900)
    X = X[:, :columns]
    cells = [["" if np.isnan(cell) else repr(float(cell)) for cell in row] for row in X]
    lines = [",".join([*row, repr(float(target))]) for row, target in zip(cells, y, strict=True)]
    odd = [",".join([*["1"] * columns, bad]) for bad in ("Infinity", "1e80", "")]
    header = [*"abc"[:columns], "y"]
    (tmp_path / "rows.csv").write_text("\n".join([",".join(header), *lines[:500], *odd, *lines[500:]]))
    until(browser, f"{ROWS} > 300")
    click(browser, "compare")
    until(browser, "playground.state.sizes.length > 0")  # of the stream before
    give(browser, "csv", tmp_path / "rows.csv")
    until(browser, f"{LEARNED} == 900 && playground.state.ended")
    assert value(browser, NOTE).startswith(f"900 rows, {columns} columns, 1 quantity. y is a quantity, in the picture")
    left = "Left out: 1 row without a label; 2 rows whose label is no number that can be learned."
    assert left in value(browser, NOTE)
    data = bytes(value(browser, "[...playground.state.model.save()]"))
    model = pk.PocketRegressor(memory="16KiB", random_state=0)
    answers, margins = np.empty(900), np.zeros((900, 2))
    for n in range(900):
        if n:
            margins[n] = model.margins(0.9)
        answers[n] = model.predict_then_learn(X[n : n + 1], y[n : n + 1])[0]
    theirs = pk.PocketRegressor.from_bytes(data)
    frame = pd.DataFrame(X, columns=header[:-1])
    assert theirs.budget_ == model.budget_ and theirs.predict(frame).tolist() == model.predict(X).tolist()
    means = np.concatenate([[0.0], np.cumsum(y)[:-1] / np.arange(1, 900)])
    predictions = {"PocketRegressor": answers, "mean so far": means, "last value": np.concatenate([[0.0], y[:-1]])}
    errors = {name: (one - y)[1:] for name, one in predictions.items()}  # nothing is known at the first row
    inside = ((answers + margins[:, 0] <= y) & (y <= answers + margins[:, 1]))[1:]
    until(browser, "document.getElementById('rows').textContent === '900'")  # numbers are written every few frames
    shown = value(browser, CELLS)
    assert [row[0] for row in shown] == [*errors, "inside the 90% interval"]
    for name, *found in shown[:3]:
        wanted = [shortest(np.sqrt(np.mean(errors[name][part] ** 2))) for part in (slice(-200, None), slice(None))]
        assert [float(text) for text in found] == pytest.approx(wanted, rel=1e-3), name
    assert shown[3][1:] == [f"{100 * part.mean():.1f}%" for part in (inside[-200:], inside)]
    ours, *rivals = (np.mean(one[-200:] ** 2) for one in errors.values())
    assert 0.85 < inside.mean() < 0.95 and ours < min(rivals)
    # No rate of mistakes anywhere, nothing of the stream before, and a chart that has room for all three lines.
    assert value(browser, TITLE) == ["Error (root mean square)"] * 2
    assert value(browser, "document.getElementById('flip').hidden")
    assert value(browser, "playground.state.sizes") == []
    chart = np.array(value(browser, "playground.state.history.chart"))
    assert chart.shape[1] == 4 and chart[-1, 0] == 900 and value(browser, SHOWN)[5] > 3 and value(browser, SHOWN)[6] > 3
    click(browser, "compare")
    until(browser, "!document.getElementById('compare').disabled && playground.state.sizes.length == 10", 240)
    sizes = value(browser, "playground.state.sizes")
    assert sizes[3][1] == pytest.approx(np.sqrt(np.mean(errors["PocketRegressor"] ** 2)), rel=1e-9)
    assert sizes[0] == ["2 KiB", 0, "no room"]
    assert all(float(text) == shortest(error) for _, error, text in sizes[1:])
    # A model of Python goes on here; one of classes is refused, and so is one of several targets.
    browser.evaluate(f"playground.useModel(new Uint8Array({list(model.to_bytes())}))")
    until(browser, "playground.state.model.report().rows == 1800")
    pk.PocketClassifier(memory="8KiB", random_state=0).fit(X, y > 100).save(tmp_path / "classes.pk")
    two = pk.PocketRegressor(memory="8KiB", random_state=0).fit(X, np.column_stack([y, y]))
    two.save(tmp_path / "two.pk")
    for name, said in (
        ("classes", "the file contains a PocketClassifier, not a PocketRegressor"),
        ("two", f"The model has {columns} columns and 2 targets, this stream {columns} and 1."),
    ):
        give(browser, "load", tmp_path / f"{name}.pk")
        until(browser, f"{NOTE}.includes('{said}')")
        assert value(browser, SHOWN) == NOTHING
    # Back to classes: no numbers of the quantity stay.
    choose(browser, "stream", "rings")
    until(browser, f"{ROWS} > 300")
    assert value(browser, "playground.state.history.chart.every((one) => one.length === 3 && one[1] <= 1)")
    names = [row[0] for row in value(browser, CELLS)]
    assert names == ["PocketClassifier", "linear model"] and value(browser, TITLE) == ["Mistakes"] * 2
    assert all(text.endswith("%") for row in value(browser, CELLS) for text in row[1:])
    assert not value(browser, "document.getElementById('flip').hidden")
    assert browser.console == []


@needs_browser
def test_a_file_whose_label_cannot_be_learned_offers_the_others(dist, browser, tmp_path):
    open_playground(browser, dist)
    choose(browser, "speed", 6, "input")
    good, other = ([f"{n % 7},{n % 5},{'xy'[n % 2]},name {n}" for n in range(rows)] for rows in (60, 80))
    (tmp_path / "good.csv").write_text(table([line.rpartition(",")[0] for line in good]))
    give(browser, "csv", tmp_path / "good.csv")
    until(browser, f"{ROWS} == 60")
    (tmp_path / "names.csv").write_text(table(other, "p,q,r,name"))
    give(browser, "csv", tmp_path / "names.csv")
    until(browser, f"{NOTE}.includes('The column name has 80 different labels')")
    assert value(browser, SHOWN) == NOTHING
    assert value(browser, f"[{LABELS}, {HIDDEN}]") == [["p", "q", "r", "name"], False]
    click(browser, "play")  # the stream before, and its labels
    until(browser, "!playground.state.failed")
    assert value(browser, f"[{LABELS}, {CHOSEN}]") == [["a", "b", "label"], "label"]
    give(browser, "csv", tmp_path / "names.csv")
    until(browser, "playground.state.failed")
    choose(browser, "label", 2)
    until(browser, f"{ROWS} == 80")
    assert value(browser, NOTE).startswith("80 rows, 2 columns, 2 classes. Left out: 1 column without numbers (name).")
    (tmp_path / "empty.csv").write_text("")
    give(browser, "csv", tmp_path / "empty.csv")
    until(browser, f"{NOTE}.includes('no rows')")
    assert value(browser, HIDDEN) and value(browser, SHOWN) == NOTHING
    assert browser.console == []


@needs_browser
def test_playground_says_what_went_wrong(dist, browser, tmp_path):
    """Under an error there is nothing of the last stream, which waits; the page goes on when it is asked to."""
    open_playground(browser, dist)
    choose(browser, "speed", 6, "input")
    until(browser, f"{ROWS} > 300")
    bad = {
        "no rows": "", "no columns of numbers": table(["Infinity", "x"], "a"),
        "no rows that can be learned": table(["Infinity,1,x", "1e300,1,y"]),
        "61 different labels": table([f"{n},1,name{n}" for n in range(61)]),
        "features=1100000 is not a number of columns": table(["1," * 1_100_000 + str(n) for n in (0, 1)], None),
    }  # fmt: skip
    for said, text in bad.items():
        until(browser, f"!playground.state.failed && {SHOWN}[3] > 0")
        assert all(value(browser, SHOWN)[:3])
        (tmp_path / "bad.csv").write_text(text)
        rows = value(browser, ROWS)
        give(browser, "csv", tmp_path / "bad.csv")
        until(browser, f"{NOTE}.includes('{said}')")
        assert value(browser, SHOWN) == NOTHING
        assert value(browser, ROWS) >= rows and not value(browser, "playground.state.playing")
        click(browser, "play")  # the last stream goes on where it stopped
        rows = value(browser, ROWS)
        until(browser, f"{ROWS} > {rows} + 100")
        assert value(browser, NOTE) == ""
    # A file that is no model, and an error while it learns.
    (tmp_path / "bad.pk").write_bytes(b"x" * 100)
    give(browser, "load", tmp_path / "bad.pk")
    until(browser, f"{NOTE}.includes('not a model file')")
    assert value(browser, SHOWN) == NOTHING
    click(browser, "restart")
    until(browser, f"{ROWS} > 100")
    browser.evaluate("playground.state.source.next = () => ({ row: [1, Infinity], label: 0 }), 0")
    until(browser, f"{NOTE}.includes('X contains NaN or infinity')")
    assert value(browser, SHOWN) == NOTHING
    choose(browser, "stream", "rings")
    until(browser, f"{ROWS} > 500 && {SHOWN}[5] > 1 && {SHOWN}[6] > 1")
    assert value(browser, NOTE) == "" and browser.console == []


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_playground_on_a_phone(dist, browser, dark):
    open_playground(browser, dist, width=390, height=844, phone=True, dark=dark)
    until(browser, f"{ROWS} > 100")
    assert value(browser, "document.documentElement.scrollWidth <= innerWidth")
    choose(browser, "stream", "draw")
    box = value(browser, "document.getElementById('surface').getBoundingClientRect()")
    for n in range(12):
        x, y = box["left"] + 60 + 20 * n, box["top"] + (80 if n % 2 else 200)
        browser.evaluate(f"playground.state.pen = {n % 2}")
        for kind in ("mousePressed", "mouseReleased"):
            browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
    assert value(browser, "playground.state.drawn.length") == 12
    until(browser, f"{ROWS} > 300 && playground.state.history.ours.recent < 30")
    background = value(browser, "getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 300) == dark
    assert browser.console == []
