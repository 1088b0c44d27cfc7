"""Quaestor behind the interfaces of other libraries: one module for each of them.

Nothing is imported here: :mod:`quaestor.interop.dp_accounting` needs dp-accounting (the ``interop``
extra), :mod:`quaestor.interop.opacus` works with Opacus and without.
"""
