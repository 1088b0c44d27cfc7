"""``%%quaestor``: the cell is SQL, the line says what it may cost, the answer is shown below."""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from IPython.core.error import UsageError

from quaestor.errors import InvalidParameter, QuaestorError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator

    from quaestor.client.remote_curator import RemoteCurator
    from quaestor.curator.session import Curator

__all__ = ["ask_cell"]


class _CellOptions(ArgumentParser):
    """What stands behind ``%%quaestor``; what is wrong with it is one line for the reader."""

    def __init__(self) -> None:
        super().__init__(prog="%%quaestor", add_help=False, allow_abbrev=False)
        said = self.add_argument
        said("--epsilon", type=float, help="The cost in epsilon, with geometric noise.")
        said("--rho", type=float, help="The cost in rho, with Gaussian noise.")
        said("--within", type=float, help="The largest error of counts and sums.")
        said("--confidence", type=float, default=0.95, help="The probability of --within.")
        said("--account", help="The account that pays; needed if there are several.")
        said("--purpose", default="", help="The purpose, stored with the charge.")
        said("--anew", action="store_true", help="Pay for a new answer to the same question.")
        said("--preview", action="store_true", help="Show cost and accuracy without charging.")
        said("--server", help="The address of a service; the token is in QUAESTOR_TOKEN.")
        said("--catalog", help="A catalog file, to ask local data instead.")
        said("--into", metavar="NAME", help="The name of a variable for the answer.")

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, in a shell's way."""
        raise UsageError(f"{message}; %%quaestor? shows all options")


def ask_cell(shell: Any) -> Callable[[str, str], Any]:
    """The magic of one shell, in which ``--into`` makes its variables."""
    parser = _CellOptions()

    def quaestor(line: str, cell: str) -> Any:
        said = parser.parse_args(shlex.split(line))
        if said.into is not None and not said.into.isidentifier():
            raise UsageError(f"--into needs the name of a variable, not {said.into!r}")
        try:
            with _curator(said) as curator:
                found = _asked(curator, cell.strip(), said)
        except QuaestorError as problem:
            raise _in_one_line(problem) from None
        if said.into is not None:
            shell.user_ns[said.into] = found
        return found

    about = "Answer a SQL question with noise, and charge it to an account."
    quaestor.__doc__ = f"{about}\n\n{parser.format_help()}"
    return quaestor


@contextmanager
def _curator(said: Namespace) -> Iterator[Curator | RemoteCurator]:
    """Who answers: a service, or a curator in this process."""
    server = said.server or (None if said.catalog else os.environ.get("QUAESTOR_SERVER"))
    if server is not None and said.catalog is not None:
        raise UsageError("either --server or --catalog: a service has its own catalog")
    if server is None:
        from quaestor.curator.session import Curator

        with Curator.from_file(said.catalog) as curator:
            yield curator
        return
    from quaestor.client import connect

    token = os.environ.get("QUAESTOR_TOKEN", "")
    if not token:
        valid = "set: the environment variable QUAESTOR_TOKEN holds what quaestor token create said"
        raise InvalidParameter("token", "nothing", valid)
    with connect(server, token=token) as remote:
        yield remote


def _asked(curator: Curator | RemoteCurator, sql: str, said: Namespace) -> Any:
    budget: dict[str, Any] = {"epsilon": said.epsilon, "rho": said.rho}
    if said.within is not None:
        from quaestor.curator.pricing.accuracy import Accuracy

        budget["accuracy"] = Accuracy(within=said.within, confidence=said.confidence)
    if said.preview:
        return curator.preview(sql, **budget, account=said.account, anew=said.anew)
    return curator.ask(sql, **budget, account=said.account, purpose=said.purpose, anew=said.anew)


def _in_one_line(problem: QuaestorError) -> QuaestorError:
    """The same error; a shell shows its sentence, and not the way through this package."""
    sentence = f"{type(problem).__name__}: {problem}"
    problem._render_traceback_ = lambda: [sentence]  # type: ignore[attr-defined]
    return problem
