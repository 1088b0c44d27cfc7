"""The privacy kernel: an answer stays private even if everything around it is wrong.

=================  ================================================================================
``measures``       what is added up or counted in bins, and how far one unit can move it in one cell
``cut_measures``   what limits cut of a unit, and how far one unit can move that
``draws``          a measure with its noise: what it costs and how it is drawn
``measurement``    a whole question: rows, cells, draws; what is charged and what is drawn
``columns``        a column of a base table as a value of its kind: total, text by bytes
``dated_rows``     which rows a charge to blocks of time may read
``relations``      scans, caps of rows a unit, joins on the unit, joins with public tables, unions
``statement``      the outermost statements: one row a unit and cell, every contribution clamped
``sums_statement`` many sums at once: rows of units within all limits are added up where they are
``cut_statement``  what a unit has under inner and under outer limits, clamped
``kept_groups``    private groups that stay with the engine, but for those that are shown
``figures``        from the engine's rows to corrected whole numbers, to noise
=================  ================================================================================

Outside code supplies row-wise expressions (:mod:`quaestor.curator.scalars`), constants and noise.
The kernel writes everything in which people could mix. See *What you have to trust* in the docs.
"""
