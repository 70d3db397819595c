"""README and documentation: code runs, commands exist, links lead somewhere, and every public name is described."""

import doctest
import importlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cyclopts import CycloptsError

import pocketkernel
from pocketkernel.__main__ import LAB
from pocketkernel.cli import Branch, make_app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("[!_]*.md"))]
PAGES = [page for page in PAGES if "_generated" not in page.parts]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)\s]*)?\)")


def blocks(page):
    return [(found[1], found[2]) for found in FENCE.finditer(page.read_text())]


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def with_blocks(*languages):
    return [page for page in PAGES if any(language in languages for language, _ in blocks(page))]


def commands(text):
    """The commands of pocketkernel in a shell block, without what they are piped to or from."""
    plain = re.sub(r"(^|\s)#.*$", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    words = shlex.shlex(plain, posix=True, punctuation_chars="|>;&<\n")
    words.whitespace, words.whitespace_split = " \t", True
    command = []
    for word in [*words, "\n"]:
        if set(word) - set("|>;&<\n"):
            command.append(word)
            continue
        if command[:1] == ["pocketkernel"]:
            yield command[1:]
        command = []


def shell(text, folder):
    """Run a block of a guide or of the tutorial, or skip the rest of the page if it needs what is not here."""
    needed = re.match(r"# needs: (.+)\n", text)
    if needed and not shutil.which(needed[1]):
        pytest.skip(f"the shell blocks from here on need {needed[1]}")
    (folder / "bin").mkdir(exist_ok=True)
    command = folder / "bin" / "pocketkernel"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pocketkernel "$@"\n')
    command.chmod(0o755)
    names = os.environ | {"PATH": f"{command.parent}:{os.environ['PATH']}"}
    bash = ["bash", "-euo", "pipefail", "-c", text]
    run = subprocess.run(bash, cwd=folder, env=names, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("page", with_blocks("python", "pycon"), ids=name_of)
def test_code(page, tmp_path, monkeypatch):
    """The blocks of a page are one program. Where it writes a file, commands that follow can read it."""
    pytest.importorskip("river")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, name_of(page), "exec"), names)
        elif language == "pycon":
            test = doctest.DocTestParser().get_doctest(text, names, name_of(page), name_of(page), 0)
            assert doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(test).failed == 0
        elif language == "sh" and (page.stem == "tutorial" or page.parent.name == "guides"):
            shell(text, tmp_path)


def parsed(words):
    """Parse a command, as the command line does."""
    app = make_app([Branch(*branch) for branch in LAB])
    words = ["/dev/stdin" if word == "-" else word for word in words]
    return app.parse_args(words, exit_on_error=False, print_error=False)[0]


@pytest.mark.parametrize("page", with_blocks("sh"), ids=name_of)
def test_commands_exist(page):
    """Every command of pocketkernel in a page can be parsed: the verb and its options exist."""
    text = "\n".join(text for language, text in blocks(page) if language == "sh")
    found = list(commands(text))
    assert len(found) == len(re.findall(r"^(?:[^#\n]*\|)? *pocketkernel ", text, flags=re.MULTILINE)), (
        "none is overlooked"
    )
    for words in found:
        names = [part for part in parsed(words).__name__.split("_") if part]
        assert set(names) <= set("-".join(words[:3]).split("-") + words[:3]), f"{words} is another verb: {names}"


@pytest.mark.parametrize("words", [["runs", "a.csv"], ["run", "a.csv", "--labels", "y"], ["plan"], ["lab", "table"]])
def test_commands_that_do_not_exist_are_noticed(words):
    with pytest.raises(CycloptsError):
        parsed(words)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files(page):
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        assert (page.parent / link).exists(), link


def test_the_readme_can_be_read_on_a_package_index():
    """There a relative link or picture leads nowhere: files are named instead, and exist."""
    text = FENCE.sub("", (ROOT / "README.md").read_text())
    targets = re.findall(
        r"\]\(\s*([^)\s]+)|^\[[^\]]+\]:\s*(\S+)|(?:src|href)\s*=\s*[\"']?([^\"'\s>]+)", text, flags=re.M
    )
    for target in map("".join, targets):
        assert target.startswith("https://"), target
    named = re.findall(r"`([\w./]+/[\w./]+|\w+\.(?:md|cff))`", text)
    assert {"docs/tutorial.md", "CONTRIBUTING.md"} <= set(named)
    for name in set(named) - {"build/docs"}:
        assert (ROOT / name).exists(), name


def documented():
    """Modules that the API reference describes."""
    return {
        name
        for page in (DOCS / "api").glob("*.md")
        for name in re.findall(r"^\.\. automodule:: (\S+)$", page.read_text(), flags=re.MULTILINE)
    }


def test_every_public_name_is_in_the_reference():
    """A public name is in `__all__` of a module that the reference describes whole."""
    shown = {
        id(getattr(module, name)) for module in map(importlib.import_module, documented()) for name in public(module)
    }
    for path in sorted((ROOT / "src" / "pocketkernel").rglob("__init__.py")):
        parts = path.parent.relative_to(ROOT / "src").parts
        module = importlib.import_module(".".join(parts))
        for name in module.__dict__.get("__all__", ()):
            assert id(getattr(module, name)) in shown, f"{module.__name__}.{name} is not in docs/api"
    reference = "".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    for names in re.findall(r":exclude-members: (.*)", reference):
        for name in names.split(", "):
            assert f".. autoclass:: pocketkernel.{name}\n" in reference
    assert {id(getattr(pocketkernel, name)) for name in set(pocketkernel.__all__) - {"__version__"}} <= shown


def public(module):
    if hasattr(module, "__all__"):
        return set(module.__all__) - {"__version__"}
    return {name for name, one in vars(module).items() if getattr(one, "__module__", None) == module.__name__}


def test_the_readme_is_short_and_says_how_to_begin():
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") <= 150
    for words in ("make run", "make test", "pip install .", "Python 3.11"):
        assert words in text
