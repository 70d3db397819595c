"""The documentation site: `make docs` builds it into build/docs."""

import re
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

from pocketkernel.__main__ import LAB
from pocketkernel.cli import Branch, make_app

HERE = Path(__file__).parent

project = "pocketkernel"
copyright = "the authors of pocketkernel"
release = version_of("pocketkernel")
html_title = "pocketkernel"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_generated"]

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"light_css_variables": {"font-stack--monospace": "ui-monospace, Menlo, Consolas, monospace"}}

# `make web` builds the playground, one file without requests; where it is there, the first page shows it.
PLAYGROUND = HERE.parent / "web" / "dist" / "playground.html"
html_extra_path = [str(PLAYGROUND)] if PLAYGROUND.is_file() else []

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings describe types in words
autodoc_mock_imports = ["pyspark"]  # large, and only its names are needed
autodoc_default_options = {"members": True}
autodoc_inherit_docstrings = False
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are words, not names to link to
napoleon_use_ivar = True
strip_signature_backslash = True  # keep the underscore at the end of fitted attributes
smartquotes = False  # options begin with --
default_role = "code"  # `name` in a docstring
suppress_warnings = ["ref.python"]  # words in docstrings that are the name of several things


def write_pages(_: Sphinx) -> None:
    """Write the reference of the command line from the help of its commands, and where the playground is."""
    app = make_app([Branch(*branch) for branch in LAB])
    text = app.generate_docs(output_format="markdown", recursive=True)
    text = text.replace(" -m sphinx", "")  # cyclopts adds how this process was started
    verbs = text.partition("**Commands**")[2].partition("\n## ")[2]
    folder = HERE / "_generated"
    folder.mkdir(exist_ok=True)
    (folder / "command_line.md").write_text(f"## {verbs}")
    there = (
        '<iframe class="playground" src="playground.html" title="A model that learns in this page"></iframe>\n'
        '<p><a href="playground.html">Open the playground on its own page</a></p>\n'
    )
    (folder / "playground.md").write_text(there if PLAYGROUND.is_file() else "")
    (folder / "tuning.md").write_text(tables_of_numbers((HERE.parent / "core/pocketkernel/tuning.hpp").read_text()))


def tables_of_numbers(header: str) -> str:
    """The numbers of tuning.hpp: a table for each of its structs, with the remark before it, in their order."""
    lines, groups, remark = [], ["Tuning"], ""
    table = ["| number | value | |", "|---|--:|---|"]
    opened = False
    for line in header.partition("struct Tuning {")[2].partition("\n};")[0].splitlines():
        text = line.strip()
        if text.startswith("// "):
            remark = text[3:]
        elif begun := re.fullmatch(r"struct (\w+) \{", text):
            groups.append(begun[1])
            opened = False
        elif text == "};":
            groups.pop()
            opened = False
        elif number := re.fullmatch(r"static constexpr [\w:]+ (\w+)(?: = |\{)(.+?)\}?;\s*(?://\s*(.*))?", text):
            if not opened:
                heading = " of ".join(reversed(groups[1:])) or "All"
                lines += ["", f"## {heading}", "", *([remark, ""] if remark else []), *table]
                opened, remark = True, ""
            lines.append(f"| `{number[1]}` | {number[2]} | {(number[3] or '').replace('|', chr(92) + '|')} |")
        elif text and not re.fullmatch(r"double .*;.*", text):
            raise ValueError(f"docs/conf.py cannot read this line of tuning.hpp: {text}")
    return "\n".join(lines) + "\n"


def outside(app: Any, name: str, source: list[str]) -> None:
    """Links to files of the repository that are not pages become plain text; the files must exist."""
    here = (HERE / name).parent if name not in ("contributing", "changelog") else HERE.parent

    def plain(link: re.Match[str]) -> str:
        path = (here / link[2]).resolve()
        return link[0] if path.is_relative_to(HERE) or not path.exists() else f"`{link[1].strip('`')}`"

    source[0] = re.sub(r"\[([^\]\n]+)\]\((\.\./[^)#\s]+)\)", plain, source[0])


_HELD: dict[str, list[str]] = {}


def hold(*given: Any) -> None:
    """Keep the text of properties from napoleon, which would read "what it is: more" as a type and a text."""
    _, what, name, *_, lines = given
    if what == "property":
        _HELD[name] = list(lines)
        lines.clear()


def give_back(*given: Any) -> None:
    """After napoleon."""
    _, _, name, *_, lines = given
    lines[:] = _HELD.pop(name, lines)


def escape_bars(*given: Any) -> None:
    """Docstrings write |x| for a norm; reStructuredText would replace it."""
    *_, lines = given
    inside = re.compile(r"(``.*?``|`.*?`)")
    lines[:] = ["".join(part if part[:1] == "`" else part.replace("|", r"\|") for part in inside.split(line))
                for line in lines]  # fmt: skip


def skip_foreign(*given: Any) -> bool | None:
    """What scikit-learn and River give to every estimator is in their own documentation."""
    _, _, name, obj, *_ = given
    foreign = (getattr(obj, "__module__", None) or "").partition(".")[0] in ("sklearn", "river")
    return True if foreign or name.endswith("_request") else None


def math(page: Any, node: Any) -> None:
    """A formula as MathML, which browsers typeset by themselves: no script, and nothing from the network."""
    page.body.append(tex2mathml(node.astext()))
    raise SkipNode


def math_block(page: Any, node: Any) -> None:
    """The same on a line of its own."""
    page.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise SkipNode


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (math, None), (math_block, None))
    app.connect("builder-inited", write_pages)
    app.connect("source-read", outside)
    app.connect("autodoc-process-docstring", hold, priority=400)
    app.connect("autodoc-process-docstring", give_back, priority=600)
    app.connect("autodoc-process-docstring", escape_bars, priority=700)
    app.connect("autodoc-skip-member", skip_foreign)
