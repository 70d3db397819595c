"""The shape of the house: what is shipped, and that both languages have the same parts."""

import ast
import importlib.resources
import re
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import pocketkernel
from oracle import parts
from pocketkernel import _core, kernels, learners, losses

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "pocketkernel"
CORE = ROOT / "core" / "pocketkernel"
MODULES = sorted(PACKAGE.rglob("*.py"))
HEADERS = sorted(CORE.rglob("*.hpp"))


def stems(folder, pattern, *but):
    return {path.stem for path in folder.glob(pattern)} - set(but)


# ---- what is shipped ------------------------------------------------------------------------------------------------


def test_types_are_shipped():
    shipped = importlib.resources.files("pocketkernel")
    assert shipped.joinpath("py.typed").is_file()
    assert shipped.joinpath("_core.pyi").is_file()


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", pocketkernel.__version__)
    assert f'version = "{pocketkernel.__version__}"' in (ROOT / "pyproject.toml").read_text()


def packages_of(requirements):
    """Names of packages as they are imported."""
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}
    return {{"scikit-learn": "sklearn"}.get(name, name) for name in names}


def imported(paths):
    """Packages of others that are imported by statements, which `optional` is not."""
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"pocketkernel"}


def test_the_product_needs_what_it_imports_and_no_more():
    """What only the laboratory or a rare use needs is an extra, which its error names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    product = [path for path in MODULES if "lab" not in path.relative_to(PACKAGE).parts]
    needed = packages_of(project["dependencies"])
    extras = {name: packages_of(all_) for name, all_ in project["optional-dependencies"].items()}
    assert needed == imported(product) - set.union(*extras.values())
    assert imported(MODULES) <= needed | set.union(*extras.values())
    asked = {
        tuple(ast.literal_eval(node.args[place]) for place in (0, 2))
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "optional"
        and [isinstance(argument, ast.Constant) for argument in node.args] == [True] * 3
    }
    assert ("threadpoolctl", "lab") in asked
    for module, extra in asked:
        assert module.partition(".")[0] in extras[extra], (module, extra)


@pytest.mark.parametrize("module", [pocketkernel, learners], ids=lambda m: m.__name__)
def test_public_names(module):
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert hasattr(module, name)
    assert {"MOMDS", "MOMDH", "LKMBooks", "MulticlassMOMDS", "PocketClassifier", "Raker"} <= set(module.__all__)


def test_public_names_are_described():
    for name in set(pocketkernel.__all__) - {"__version__"}:
        assert getattr(pocketkernel, name).__doc__, name


def test_the_stub_names_what_the_module_has():
    stub = ast.parse((PACKAGE / "_core.pyi").read_text())
    real = {name for name in dir(_core) if not name.startswith("__")}
    names = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    dictionaries = {"Tally", "KernelReport"}  # exist for type checkers only
    assert names - dictionaries == real
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and node.name not in dictionaries:
            members = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            members |= {n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}
            there = set(dir(getattr(_core, node.name)))
            assert members <= there, node.name
            assert {name for name in there if not name.startswith("__")} <= members, node.name


# ---- the same parts in both languages -------------------------------------------------------------------------------


SHARED = ("learner", "list", "optimistic_descent", "shared_buffer")  # headers that learners are made from


def test_learners_have_the_same_files():
    python = stems(PACKAGE / "learners", "[!_]*.py")
    assert python == stems(CORE / "learners", "*.hpp", *SHARED)
    assert {"m_omd_s", "m_omd_h", "lkm_books", "multiclass_m_omd_s", "pocket_classifier", "raker"} <= python


def test_learners_have_the_same_names():
    for name in learners.__all__:
        class_ = getattr(learners, name)
        stem = class_._learner
        assert class_.__module__ == f"pocketkernel.learners.{stem}"
        header = (CORE / "learners" / f"{stem}.hpp").read_text()
        assert f'name = "{stem}"' in header
        assert f"class {name} " in header
        assert stem in _core.LEARNERS


def test_learners_have_an_oracle():
    oracles = stems(ROOT / "tests" / "oracle", "*.py", "__init__", "parts")
    assert oracles == stems(CORE / "learners", "*.hpp", *SHARED)


def test_learners_have_a_cpp_test():
    """Each is run in both precisions."""
    tried = (ROOT / "tests" / "cpp" / "any_learner.hpp").read_text()
    for name in learners.__all__:
        for doubles in ("false", "true"):
            assert f'{{"{getattr(learners, name)._learner}", {doubles}' in tried


def test_kernels_have_the_same_names():
    assert (
        set(kernels.KERNELS)
        == set(_core.KERNELS)
        == stems(CORE / "kernels", "*.hpp", "bank", "list", "metric", "shape")
    )
    assert {class_.__name__ for class_ in kernels.KERNELS.values()} <= set(pocketkernel.__all__)


def test_kernels_have_an_oracle():
    assert set(parts.VALUES) == set(_core.KERNELS)


def test_losses_have_the_same_names():
    assert set(losses.LOSSES) == set(_core.LOSSES) == stems(CORE / "losses", "*.hpp", "list", "point")


def test_parameters_belong_to_some_learner():
    """None is left over from something removed."""
    known = {name for class_name in learners.__all__ for name in getattr(learners, class_name)._get_param_names()}
    assert set(_core.parameters()) <= known


def test_headers_have_a_test():
    """One C++ test file per header that has code; for folders of small headers one for the folder."""

    def tested(folder):
        return {path.stem.removeprefix("test_") for path in folder.glob("test_*.cpp")}

    tests = ROOT / "tests" / "cpp"
    mirrored = {"columns": set(), "experts": {"expert", "roster"}, "mixture": set()}  # experts: with the list
    elsewhere = {"config", "level", "parts", "status", "tuning", "workspace"}  # plain data, and what all others use
    folders = {path.name for path in CORE.iterdir() if path.is_dir()} - mirrored.keys()
    assert tested(tests) == stems(CORE, "*.hpp") - elsewhere | folders
    for folder, together in mirrored.items():
        assert tested(tests / folder) == stems(CORE / folder, "*.hpp") - together, folder


# ---- what the core may use ------------------------------------------------------------------------------------------

STANDARD = {
    "algorithm", "array", "cfloat", "climits", "cmath", "cstddef", "cstdint", "cstring", "initializer_list", "limits",
    "new", "type_traits", "utility",
}  # fmt: skip
FORBIDDEN = {
    "heap": r"\b(malloc|calloc|realloc|free|alloca)\s*\(|\bdelete\b(?!\s*;)|\bnew\b(?!\s*\()",
    "exceptions": r"\bthrow\b|\btry\b|\bcatch\b|\bdynamic_cast\b|\btypeid\b",
    "input and output": r"\b(std::(cout|cerr|cin|printf|puts)|printf|fprintf|puts|fopen)\b",
    "containers": r"\bstd::(vector|string|string_view|map|set|function|unique_ptr|shared_ptr)\b",
    "the C library's functions": r"\bstd::(exp|log|log1p|expm1|cos|sin|pow|tanh)\b",
}


def code(path):
    """A file without comments and strings."""
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', path.read_text())
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


@pytest.mark.parametrize("path", HEADERS, ids=lambda p: p.relative_to(CORE).as_posix())
def test_the_core_stands_alone(path):
    text = path.read_text()
    assert text.startswith("// "), "a header says first what it is"
    assert "#pragma once" in text
    for name in re.findall(r"#include\s+<([^>]+)>", text):
        assert name in STANDARD
    for name in re.findall(r'#include\s+"([^"]+)"', text):
        included = (path.parent / name).resolve()
        assert included.is_file()
        assert included.is_relative_to(CORE)
    assert len(re.findall(r"#include\b", code(path))) == len(re.findall(r'#include\s+[<"]', text))
    for what, pattern in FORBIDDEN.items():
        found = re.search(pattern, re.sub(r"#include\s+\S+", "", code(path)))
        assert not found, f"{what}: {found[0]}"


def test_the_headers_form_a_dag():
    graph = {
        path: {(path.parent / name).resolve() for name in re.findall(r'#include\s+"([^"]+)"', path.read_text())}
        for path in HEADERS
    }
    order = list(TopologicalSorter(graph).static_order())  # CycleError if there is none
    assert sorted(order) == sorted(HEADERS) and len(order) > 40
    for path, included in graph.items():
        assert all(order.index(one) < order.index(path) for one in included)
