"""The flags with which the core is compiled, by compiler: what CMake would run, without running it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMPILERS = {
    "GNU": {"COMPILER_ID": "GNU"},
    "Clang": {"COMPILER_ID": "Clang"},
    "MSVC": {"COMPILER_ID": "MSVC", "COMPILER_VERSION": "19.40"},
    "clang-cl": {
        "COMPILER_ID": "Clang", "COMPILER_VERSION": "19", "COMPILER_FRONTEND_VARIANT": "MSVC", "SIMULATE_ID": "MSVC",
        "SIMULATE_VERSION": "19.40",
    },
}  # fmt: skip
# In place of Python, of threads and of nanobind, of which only the targets matter here.
STUBS = {
    "FindPython.cmake": "set(Python_FOUND TRUE)",
    "FindThreads.cmake": "set(Threads_FOUND TRUE)\nadd_library(Threads::Threads INTERFACE IMPORTED)",
    "nanobind-config.cmake": """
        function(nanobind_opt_size name)
        endfunction()
        function(nanobind_add_module name stable static)
          add_library({library} STATIC ${{ARGN}})
          add_library(${{name}} MODULE ${{ARGN}})
          target_link_libraries(${{name}} PRIVATE {library})
        endfunction()""",
}


def flags(compiler, folder, *, library="nanobind-static-abi3", machine="x86_64"):
    """Flags of each source that would be compiled."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    windows = "MSVC" in COMPILERS[compiler].values()
    settings = COMPILERS[compiler] | {"COMPILER": shutil.which("true"), "COMPILER_FORCED": "1", "COMPILER_ID_RUN": "1"}
    lines = [f"set(CMAKE_CXX_{name} {value})" for name, value in settings.items()]
    lines.append(f"set(CMAKE_SYSTEM_NAME {'Windows' if windows else 'Linux'})")
    lines.append(f"set(CMAKE_SYSTEM_PROCESSOR {machine})")
    (folder / "toolchain.cmake").write_text("\n".join(lines))
    for name, text in STUBS.items():
        (folder / name).write_text(text.format(library=library) if "{library}" in text else text)
    given = {
        "CMAKE_TOOLCHAIN_FILE": folder / "toolchain.cmake", "CMAKE_MODULE_PATH": folder, "nanobind_DIR": folder,
        "CMAKE_EXPORT_COMPILE_COMMANDS": "ON",
    }  # fmt: skip
    command = ["cmake", "-G", "Unix Makefiles", "-S", ROOT, "-B", folder / "build"]
    command += [f"-D{name}={value}" for name, value in given.items()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    compiled = json.loads((folder / "build" / "compile_commands.json").read_text())
    return [entry["command"].split()[1:] for entry in compiled]


def engines(every):
    return [words for words in every if any("POCKETKERNEL_TABLE=" in word for word in words)]


@pytest.mark.parametrize("compiler", ["MSVC", "clang-cl"])
def test_flags_of_gcc_are_not_given_to_compilers_that_take_those_of_msvc(compiler, tmp_path):
    every = flags(compiler, tmp_path, machine="AMD64")
    assert len(engines(every)) == 2  # both precisions: of one level, as there are no packs
    for words in every:
        assert not [word for word in words if word.startswith(("-f", "-m", "-W", "--param", "-include", "-Og", "-O3"))]


@pytest.mark.parametrize("library", ["nanobind-static", "nanobind-static-abi3"])
@pytest.mark.parametrize("compiler", ["GNU", "Clang"])
def test_flags_that_keep_the_bits(compiler, library, tmp_path):
    every = flags(compiler, tmp_path, library=library)
    assert len(engines(every)) == 4
    for words in engines(every):
        assert {"-ffp-contract=off", "-fno-math-errno", "-fno-exceptions"} <= set(words)
        assert not {"-ffast-math", "-Ofast", "-mfma", "-march=native"} & set(words)
    assert sum("-mavx2" in words for words in every) == 2
    assert any(word.startswith("--param") for words in every for word in words) == (compiler == "GNU")


@pytest.mark.parametrize(("compiler", "command"), [("GNU", "g++"), ("Clang", "clang++")])
def test_compilers_know_their_flags(compiler, command, tmp_path):
    """An unknown one would be a warning."""
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")
    for words in flags(compiler, tmp_path):
        own = [word for word in words if word.startswith(("-O", "-f", "-m", "-W", "--param"))]
        subprocess.run([command, "-Werror", *own, "-c", "-x", "c++", "/dev/null", "-o", tmp_path / "o"], check=True)


def test_other_machines_have_one_level(tmp_path):
    every = engines(flags("Clang", tmp_path, machine="aarch64"))
    assert len(every) == 2
    assert not any("-mavx2" in words for words in every)
