"""`pocketkernel lab` as a branch of the command line."""

import subprocess
import sys

import pytest

from pocketkernel import cli
from pocketkernel.__main__ import main
from pocketkernel.lab.cli import VERBS


def test_every_verb_has_help(capsys):
    assert main(["lab", "--help"]) == 0
    text = capsys.readouterr().out
    for module in VERBS:
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        assert f" {name} " in text
        assert main(["lab", name, "--help"]) == 0
        assert f"pocketkernel lab {name}" in capsys.readouterr().out


def test_the_paper_has_its_verbs():
    names = {module.__name__.rpartition(".")[2].replace("_", "-") for module in VERBS}
    assert names >= {"tables", "ablation", "alignment", "regret", "lower-bound", "learnability", "data"}


def test_a_configuration_has_a_table_for_the_lab(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pocketkernel.toml").write_text('[lab.tables]\ndata-sets = ["iris"]\n')
    assert main(["lab", "tables"]) == 2
    assert "iris is not a data set of the paper" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_the_product_does_not_load_it(arguments):
    program = (
        "import sys\nfrom pocketkernel.__main__ import main\n"
        f"assert main({arguments!r}) == 0\n"
        "assert not [name for name in sys.modules if name.startswith('pocketkernel.lab')]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_the_product_alone_has_no_such_verb(capsys):
    assert cli.main(["lab", "tables"]) == 2
    assert "lab" in capsys.readouterr().err
