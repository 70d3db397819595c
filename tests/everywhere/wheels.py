"""Tries wheels where there is no compiler: with each Python given, and with Debian's for arm64, in an emulator.

    python tests/everywhere/wheels.py FOLDER PYTHON ...

The models of `run.py` go on learning in each; the digest of their scores and states must be the same everywhere. What
the emulator needs is downloaded to FOLDER/arm64, without root; if a tool is missing it is left out, by name.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).with_name("run.py")
DEBIAN = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {} trixie main"
EMULATOR = "qemu-aarch64"
TOOLS = (EMULATOR, "apt-get", "dpkg-deb")
VERSION = "3.13"  # of trixie


def run(*command: object, **more: str) -> str:
    """What a command prints, without a compiler in its environment; what it complains of is seen."""
    environment = os.environ | {"CC": "none", "CXX": "none"} | more
    return subprocess.run(
        list(map(str, command)), env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def on_this_machine(python: str, wheel: Path, folder: Path) -> str:
    """The digest of a fresh environment that has the wheel, and the command that it installs."""
    run(python, "-m", "venv", "--clear", folder)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel)
    run(folder / "bin" / "pocketkernel", "--version")
    return run(folder / "bin" / "python", RUN, "--python").strip()


def on_arm64(wheel: Path, folder: Path) -> str:
    """The digest of Debian's Python for arm64; pip chooses the packages by their tags, as it would there."""
    root, site, apt = folder / "root", folder / "site", folder / "apt"
    for part in (root, apt / "lists" / "partial", apt / "archives" / "partial"):
        part.mkdir(parents=True)
    (apt / "status").touch()
    # From where this machine gets its packages.
    uris = run("apt-get", "indextargets", "--format", "$(REPO_URI)").split()
    mirror = next(uri for uri in uris if "security" not in uri)
    (apt / "sources.list").write_text(f"{DEBIAN.format(mirror)}\n")
    settings = (
        *(f"Dir::State={apt}", f"Dir::State::status={apt / 'status'}", f"Dir::Cache={apt}", "Dir::Etc::sourceparts=-"),
        *(f"Dir::Etc::sourcelist={apt / 'sources.list'}", "APT::Architecture=arm64", "APT::Architectures=arm64"),
        *("APT::Sandbox::User=", "Debug::NoLocking=1"),
    )
    get = ("apt-get", "-qq", *(word for setting in settings for word in ("-o", setting)))
    run(*get, "update")
    run(*get, "install", "--yes", "--download-only", "--no-install-recommends", f"python{VERSION}", "libstdc++6")
    for package in sorted((apt / "archives").glob("*.deb")):
        run("dpkg-deb", "-x", package, root)
    (root / "lib").symlink_to("usr/lib")
    platforms = ("--platform", "manylinux_2_28_aarch64", "--platform", "manylinux2014_aarch64")
    install = ("-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--target", site, *platforms)
    run(sys.executable, *install, "--python-version", VERSION, wheel)
    python = (EMULATOR, "-L", root, root / "usr" / "bin" / f"python{VERSION}")
    return run(*python, RUN, "--python", PYTHONPATH=str(site)).strip()


def main(folder: Path, pythons: list[str]) -> int:
    """Try the wheels; 0 if all digests are the same."""
    wheels = {machine: next(folder.glob(f"*_{machine}.whl")) for machine in ("x86_64", "aarch64")}
    digests = {}
    for python in pythons:
        name = Path(python).name
        digests[name] = on_this_machine(python, wheels["x86_64"], folder / f"try-{name}")
        print(f"{name}: {digests[name]}", flush=True)
    missing = next((tool for tool in TOOLS if shutil.which(tool) is None), None)
    if missing:
        print(f"aarch64: left out, {missing} is not there")
    else:
        shutil.rmtree(folder / "arm64", ignore_errors=True)
        digests["aarch64"] = on_arm64(wheels["aarch64"], folder / "arm64")
        print(f"aarch64, python{VERSION}: {digests['aarch64']}")
    for wheel in wheels.values():
        print(f"{wheel.stat().st_size:,} bytes: {wheel.name}")
    if len(set(digests.values())) > 1:
        print("the digests differ")
    return int(len(set(digests.values())) != 1)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
