"""What a table really holds, exactly, for its owner's eyes: nothing here is private or charged.

===================  ===============================================================================
``table_check``      what was found: rows, columns, units, and the check itself
``exact_figures``    the statements that read a table exactly, on any engine
``text_problems``    why a text is not a value of its kind, and which option reads it
``text_files``       lines of CSV files that cannot be read at all
``remedies``         what to do: commands about reading, words about everything else
===================  ===============================================================================

Nothing in this folder writes to a ledger, a log or a file. Remedies about bounds, caps and keys are
made of names and of what the catalog declares: no value and no count of the data is in them.
"""

from quaestor.curator.inspection.table_check import TableCheck, check_table

__all__ = ["TableCheck", "check_table"]
