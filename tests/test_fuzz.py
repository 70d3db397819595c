"""No file, however mangled, crashes, hangs or takes much memory. What is done to them is in the scripts named here."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SCRIPTS = {
    "fuzz_model_file.py": (10_000, ("edit_json", "edit_recipe", "edit_state")),
    "fuzz_runs.py": (6_000, ("edit_section", "edit_arrays")),
    "fuzz_fleet.py": (3_000, ("edit_head", "edit_slab", "edit_log", "edit_archive")),
}
"""Cases at least, and kinds of which not all are stopped at the door."""


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.skipif(sys.platform != "linux", reason="limits memory by what Linux says of a process")
def test_mangled_files(tmp_path, capsys, script):
    journal, path = tmp_path / "journal", Path(__file__).with_name(script)
    cases, let_in = SCRIPTS[script]
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", path, journal],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    here = journal.read_text().strip() if journal.exists() else "nothing"
    assert run.returncode == 0, f"at: {here} (python {script} - {here})\n{run.stderr}"
    counts = Counter({(kind, outcome): count for kind, outcome, count in json.loads(run.stdout)})
    outcomes = sorted({outcome for _, outcome in counts})
    with capsys.disabled():
        print("\n" + " " * 24 + "".join(f"{outcome:>22}" for outcome in outcomes))
        for kind in dict.fromkeys(kind for kind, _ in counts):
            print(f"{kind:>24}" + "".join(f"{counts[kind, outcome]:>22}" for outcome in outcomes))
    assert sum(count for (_, outcome), count in counts.items() if outcome != "unchanged") >= cases
    assert {outcome for kind, outcome in counts if kind in ("truncate", "flip", "splice")} <= {"refused", "unchanged"}
    strange = sum(count for (_, outcome), count in counts.items() if outcome == "accepted, not finite")
    assert strange == 0, run.stderr
    for kind in let_in:
        assert counts[kind, "accepted"] > 0
        assert counts[kind, "refused"] > 0
