"""Where the headers of the C++ core are."""

from pathlib import Path


def get_include() -> str:
    """The folder to put on a C++ compiler's include path, for `#include "pocketkernel/learners/pocket_classifier.hpp"`.

    The core is C++17, header-only, without heap, exceptions or input and output. Compile it with `-ffp-contract=off`:
    results then have the same bits on every machine.

    Examples
    --------
    >>> from pathlib import Path
    >>> import pocketkernel
    >>> (Path(pocketkernel.get_include()) / "pocketkernel" / "config.hpp").is_file()
    True
    """
    here = Path(__file__).resolve()
    installed, source = here.parent / "include", here.parents[2] / "core"
    return str(installed if installed.is_dir() else source)
