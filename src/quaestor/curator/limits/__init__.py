"""Limits that are chosen privately: bounds of numbers, rows and groups a unit.

===================  ==============================================================================
``grids``            the bins that units are counted in: public, the same for all data
``histograms``       noisy histograms of units, and what is sure of them
``choices``          bounds and caps that balance clipping against noise
``tune_plan``        what is measured for a table, what it costs, and what it is known by
``tuned_limits``     what was chosen, how sure it is, and the catalog that says so
``question_bounds``  the same inside one question: how its budget is divided, and its bounds
===================  ==============================================================================

Whatever is chosen is a function of released histograms and of public facts alone.
"""
