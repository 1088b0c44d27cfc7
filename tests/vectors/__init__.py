"""Numbers the package must give: one TOML file a theorem family, each case with its source."""

import tomllib
from pathlib import Path
from typing import Any


def load(name: str) -> list[dict[str, Any]]:
    """Read the cases of the file ``<name>.toml`` that lies beside this module."""
    text = (Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8")
    cases: list[dict[str, Any]] = tomllib.loads(text)["case"]
    return cases
