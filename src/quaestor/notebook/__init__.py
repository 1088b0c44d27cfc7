"""The notebook: SQL in a cell of IPython, charged and answered (extra ``notebook``).

::

    %load_ext quaestor.notebook

    %%quaestor --epsilon 0.1 --server https://data.example.org --into visits
    SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward

The token is read from the environment variable ``QUAESTOR_TOKEN``, so that no notebook holds it.
"""

from __future__ import annotations

from typing import Any

from quaestor.errors import MissingExtra

__all__ = ["load_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Add ``%%quaestor`` to a shell: what ``%load_ext quaestor.notebook`` calls.

    Raises:
        MissingExtra: IPython is not installed.

    >>> from IPython.core.interactiveshell import InteractiveShell
    >>> shell = InteractiveShell()
    >>> load_ipython_extension(shell)
    >>> "quaestor" in shell.magics_manager.magics["cell"]
    True
    """
    try:
        from quaestor.notebook.cell_magic import ask_cell
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "IPython":
            raise
        raise MissingExtra("IPython", extra="notebook", purpose="%%quaestor") from None
    shell.register_magic_function(ask_cell(shell), magic_kind="cell", magic_name="quaestor")
