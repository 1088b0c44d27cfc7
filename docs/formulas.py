"""Formulas become HTML while the site is built, by one Node.js process for all of them.

The server of ``sphinxcontrib.katex`` is reached through a socket, within seconds, which a busy
machine does not always manage. A pipe has no such limits, and the process ends with the build.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import sphinxcontrib.katex

__all__ = ["render"]

_KATEX = Path(sphinxcontrib.katex.__file__).with_name("katex.min.js")
_PROGRAM = """
const katex = require(process.argv[1]);
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const {latex, options} = JSON.parse(line);
  let answer;
  try { answer = {html: katex.renderToString(latex, options)}; }
  catch (error) { answer = {error: String(error)}; }
  console.log(JSON.stringify(answer));
});
"""


@cache
def _renderer() -> subprocess.Popen[str]:
    command = ["node", "-e", _PROGRAM, str(_KATEX)]
    return subprocess.Popen(  # noqa: S603  # our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )


def render(latex: str, options: dict[str, Any] | None = None) -> str:
    """The HTML of a formula; a formula that KaTeX does not understand ends the build."""
    node = _renderer()
    if node.stdin is None or node.stdout is None:
        raise RuntimeError("the renderer has no pipes")
    node.stdin.write(json.dumps({"latex": latex, "options": options or {}}) + "\n")
    answer: dict[str, str] = json.loads(node.stdout.readline())
    if "error" in answer:
        raise ValueError(f"{latex}: {answer['error']}")
    return answer["html"]
