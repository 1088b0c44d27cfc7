"""How Sphinx builds the site (``make docs``): from these pages and the docstrings, offline."""

from __future__ import annotations

import quaestor

project = "Quaestor"
author = "The Quaestor authors"
version = release = quaestor.__version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinxcontrib.katex",
]
exclude_patterns = ["_build", "README.md"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# Formulas are rendered while building, by the KaTeX whose style sheet is in _static/katex.
katex_prerender = True
katex_css_path = "katex/katex.min.css"

html_theme = "furo"
html_title = f"Quaestor {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
