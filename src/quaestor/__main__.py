"""``python -m quaestor`` is the ``quaestor`` command."""

from quaestor.cli.app import main

main()
