"""Builds web/dist: the npm-style package `pocketkernel`, and the playground as one HTML file without any request.

    python web/build.py

The compiler is Zig's clang from the package index (`pip install ziglang==0.17.0`). There is no C library in the module.
"""

import base64
import gzip
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ZIG_VERSION = "0.17.0"
WEB = Path(__file__).resolve().parent
DIST = WEB / "dist"
PACKAGE = DIST / "pocketkernel"
FLAGS = shlex.split(
    "-target wasm32-wasi -std=c++17 -O2 -ffp-contract=off -fno-math-errno -fno-exceptions -fno-rtti -mbulk-memory "
    "-Wall -Wextra -Werror"
)
LINK = ["--no-entry", "--strip-all", "--export=__heap_base"]
LEVELS = {"pocketkernel": ["-msimd128"], "pocketkernel-scalar": []}


def zig(*arguments: str | Path) -> None:
    """Run a part of Zig."""
    subprocess.run([sys.executable, "-m", "ziglang", *map(str, arguments)], check=True)


def compile_module(name: str, flags: list[str]) -> Path:
    """The core as WebAssembly."""
    module, unlinked = PACKAGE / f"{name}.wasm", DIST / f"{name}.o"
    core = WEB.parent / "core"
    zig("c++", *FLAGS, *flags, f"-I{core}", "-c", WEB / "src" / "pocketkernel.cpp", "-o", unlinked)
    zig("wasm-ld", *LINK, unlinked, "-o", module)
    unlinked.unlink()
    return module


def bundled() -> str:
    """The page's modules as one: what they import from each other is in the same scope."""
    parts = [
        WEB / "package" / "model_file.js",
        WEB / "package" / "pocketkernel.js",
        WEB / "playground" / "streams.js",
        WEB / "playground" / "playground.js",
    ]
    text = "\n".join(part.read_text() for part in parts)
    text = re.sub(r'^import .* from "\.\.?/.*";$', "", text, flags=re.MULTILINE)
    text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
    levels = {name: base64.b64encode((PACKAGE / f"{name}.wasm").read_bytes()).decode() for name in LEVELS}
    return f"""{text}
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const simd = bytes("{levels["pocketkernel"]}");
run(WebAssembly.validate(simd) ? simd : bytes("{levels["pocketkernel-scalar"]}"));
"""


def main() -> None:
    """Build everything."""
    version = subprocess.run([sys.executable, "-m", "ziglang", "version"], capture_output=True, text=True, check=False)
    if version.stdout.strip() != ZIG_VERSION:
        found = version.stdout.strip() or "none"
        raise SystemExit(f"ziglang {ZIG_VERSION} is needed, found {found}: pip install ziglang=={ZIG_VERSION}")
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.copytree(WEB / "package", PACKAGE)
    shutil.copyfile(WEB.parent / "LICENSE", PACKAGE / "LICENSE")
    for name, flags in LEVELS.items():
        module = compile_module(name, flags)
        packed = len(gzip.compress(module.read_bytes(), 9))
        print(f"{module.relative_to(WEB.parent)}: {module.stat().st_size:,} bytes, gzipped {packed:,}")
    page = (WEB / "playground" / "index.html").read_text()
    page = page.replace("/*@STYLE@*/", (WEB / "playground" / "style.css").read_text())
    page = page.replace("/*@SCRIPT@*/", bundled())
    (DIST / "playground.html").write_text(page)
    print(f"{(DIST / 'playground.html').relative_to(WEB.parent)}: {len(page):,} bytes")


if __name__ == "__main__":
    main()
