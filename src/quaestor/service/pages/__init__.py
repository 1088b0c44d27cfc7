"""The pages of the service, for browsers: templates, and what they are filled with.

Every page shows what a route of the API gives the same caller, by calling that route's function
under the same rule. :mod:`quaestor.service.pages.families` lists the families of pages.
"""
