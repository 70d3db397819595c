"""No file, however mangled, crashes, hangs or takes much memory. What is done to the files is in fuzz_model_file.py."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("fuzz_model_file.py")


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory by what Linux says of a process")
def test_mangled_files(tmp_path, capsys):
    journal = tmp_path / "journal"
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", SCRIPT, journal],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    here = journal.read_text().strip() if journal.exists() else "nothing"
    assert run.returncode == 0, f"at: {here} (python {SCRIPT.name} - {here})\n{run.stderr}"
    counts = Counter({(kind, outcome): count for kind, outcome, count in json.loads(run.stdout)})
    outcomes = sorted({outcome for _, outcome in counts})
    with capsys.disabled():
        print("\n" + " " * 24 + "".join(f"{outcome:>22}" for outcome in outcomes))
        for kind in dict.fromkeys(kind for kind, _ in counts):
            print(f"{kind:>24}" + "".join(f"{counts[kind, outcome]:>22}" for outcome in outcomes))
    assert sum(count for (_, outcome), count in counts.items() if outcome != "unchanged") >= 10_000
    assert {outcome for kind, outcome in counts if kind in ("truncate", "flip", "splice")} <= {"refused", "unchanged"}
    strange = sum(count for (_, outcome), count in counts.items() if outcome == "accepted, not finite")
    assert strange == 0, run.stderr
    for kind in ("edit_json", "edit_recipe", "edit_state"):  # not everything is stopped at the door
        assert counts[kind, "accepted"] > 0
        assert counts[kind, "refused"] > 0
