"""Who may import whom: a DAG in which data flows one way, without private doors, and with the laboratory on top."""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "pocketkernel"

# A module may import its own package and those before it: stream -> learners -> evaluate -> report, the command line on
# top, and the laboratory on all of it. A new module or package is put where it belongs.
ROOMS = (
    "_core _files _text _json _optional _threads _alone _level _scores _include _order _frames _hash",
    "memory kernels losses model_file _fields certificate",
    "stream learners late_intervals river stored evaluate tables loading pocketkernel report fleet spark device cli",
    "lab lab.streams lab.catalogue lab.bounds lab.theory lab.report lab.roster lab.experiments lab.demo lab.cli",
    "__main__",
)
ORDER = [room for line in ROOMS for room in line.split()]


def sources():
    """The text of every module, by its name; a package is told by its name and a dot."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = ("pocketkernel", *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts[:-1]) + "." if parts[-1] == "__init__" else ".".join(parts)] = path.read_text()
    return found


@cache
def nodes(text):
    """What a text says of others: its imports, strings, attributes and names."""
    wanted = (ast.Import, ast.ImportFrom, ast.Constant, ast.Attribute, ast.Name, ast.FunctionDef)
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, wanted)]


def imports(text):
    """Everything of the package that a text imports, anywhere in it, as modules or names in them."""
    for node in nodes(text):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "pocketkernel")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written out in full"
            if (node.module or "").split(".")[0] == "pocketkernel":
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_of(name, known):
    """The module that an imported name is, or is in."""
    while name not in known:
        name = name.rpartition(".")[0]
    return name


def room_of(module):
    """The entry of ORDER that a module belongs to."""
    parts = module.split(".")[1:]
    if parts[:1] == ["lab"]:
        return ".".join(parts[:2])
    return parts[0] if parts else "pocketkernel"


# Private attributes of other libraries that one of our packages overrides: anyone may read them.
OF_LIBRARIES = {"_raw_memory_usage"}  # River's


def is_private(name):
    """Whether a name is for its own package only."""
    return name.startswith("_") and not name.startswith("__")


def defined(text):
    """The private names that a text defines: functions, class attributes, and attributes that it assigns."""
    for node in nodes(text):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def foreign_attributes(texts):
    """Uses of a private attribute that only other packages define, as `model._budget_name` in the command line."""
    owners = {}
    for here, text in texts.items():
        for name in filter(is_private, defined(text)):
            owners.setdefault(name, set()).add(room_of(here))
    for here, text in texts.items():
        for node in nodes(text):
            if not isinstance(node, ast.Attribute) or not is_private(node.attr) or node.attr in OF_LIBRARIES:
                continue
            if room_of(here) not in owners.get(node.attr, {room_of(here)}):
                yield f"{here} uses a private attribute: {ast.unparse(node)}"


def faults(texts):
    """What is wrong with the imports of these modules, a sentence each."""
    packages = {name.removesuffix(".") for name in texts if name.endswith(".")}
    texts = {name.removesuffix("."): text for name, text in texts.items()}
    known = {*texts, "pocketkernel._core"}
    graph, found = {}, list(foreign_attributes(texts))
    for here, text in texts.items():
        if room_of(here) not in ORDER:
            found.append(f"{here} has no place in ORDER")
            continue
        graph[here] = set()
        for name in imports(text):
            there = module_of(name, known)
            graph[here].add(there)
            if ORDER.index(room_of(there)) > ORDER.index(room_of(here)):
                found.append(f"{here} imports {name}, which stands above it")
            if there.startswith("pocketkernel.lab") and not here.startswith("pocketkernel.lab"):
                found.append(f"{here} imports the laboratory: {name}")
            if private_to(name, packages) not in (None, *enclosing(here)):
                found.append(f"{here} uses a private door: {name}")
        if here != "pocketkernel.__main__" and not here.startswith("pocketkernel.lab"):
            for node in nodes(text):
                if isinstance(node, ast.Constant) and str(node.value).startswith("pocketkernel.lab"):
                    found.append(f"{here} names the laboratory: {node.value}")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found.append(f"imports go in a circle: {' -> '.join(error.args[1])}")
    return found


def private_to(name, packages):
    """The package that alone may import this name; None if it is public."""
    parts = name.split(".")
    at = next((n for n, part in enumerate(parts) if is_private(part)), None)
    if at is None:
        return None
    owner = ".".join(parts[:at])
    return owner if owner in packages else owner.rpartition(".")[0]


def enclosing(module):
    """The module and all packages that it is in."""
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]


def test_the_house():
    texts = sources()
    assert len(texts) > 50
    assert faults(texts) == []


def test_the_order_has_no_empty_rooms():
    rooms = {room_of(name.removesuffix(".")) for name in sources()} | {"_core"}
    assert rooms == set(ORDER)


PLANTED = {
    "up": ("pocketkernel.stream.files", "from pocketkernel.learners import MOMDS", "stands above it"),
    "from report to cli": ("pocketkernel.report.html", "from pocketkernel.cli.show import out", "stands above it"),
    "the laboratory": ("pocketkernel.cli.run", "from pocketkernel.lab.theory import advise", "the laboratory"),
    "in a function": ("pocketkernel.cli.run", "def f():\n    import pocketkernel.lab.catalogue", "the laboratory"),
    "by name": ("pocketkernel.cli.run", "NAME = 'pocketkernel.lab.cli:app'", "names the laboratory"),
    "private module": ("pocketkernel.river", "from pocketkernel.learners._parameters import number", "private door"),
    "private module by its package": ("pocketkernel.river", "from pocketkernel.learners import _base", "private door"),
    "private name": ("pocketkernel.cli.run", "from pocketkernel.report.svg import _thinned", "private door"),
    "private attribute": ("pocketkernel.cli.run", "def f(model):\n    return model._multiclass", "private attribute"),
    "within the laboratory": (
        "pocketkernel.lab.experiments.cells",
        "from pocketkernel.lab.theory._pairs import BLOCK",
        "private door",
    ),
    "circle": ("pocketkernel.stream.block", "from pocketkernel.stream.files import find", "go in a circle"),
    "no place": ("pocketkernel.attic", "", "no place in ORDER"),
}


@pytest.mark.parametrize("case", PLANTED)
def test_a_fault_is_seen(case):
    module, line, words = PLANTED[case]
    texts = sources()
    if case == "circle":
        texts["pocketkernel.stream.files"] += "\nfrom pocketkernel.stream.block import gather\n"
    texts[module] = f"{texts.get(module, '')}\n{line}\n"
    assert any(words in fault for fault in faults(texts)), faults(texts)
