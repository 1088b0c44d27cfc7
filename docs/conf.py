"""How Sphinx builds the site (``make docs``): from these pages and the docstrings, offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sphinxcontrib.katex
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

import quaestor
from docs.formulas import render

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Quaestor"
author = "The Quaestor authors"
version = release = quaestor.__version__
language = "en"
smartquotes = False  # options start with two hyphens

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_design",
    "sphinxcontrib.katex",
]
exclude_patterns = ["_build", "README.md"]

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
add_module_names = False

nitpicky = True
nitpick_ignore_regex = [
    ("py:class", ".*"),  # annotations name types that have no page
    ("py:mod", "quaestor.*"),
]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# Formulas are rendered while building, by the KaTeX whose style sheet is in _static/katex.
katex_prerender = True
sphinxcontrib.katex.render_latex = render
katex_css_path = "katex/katex.min.css"

html_theme = "furo"
html_title = f"Quaestor {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_show_sphinx = html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}

_SECTIONS: Any = Config(
    napoleon_custom_sections=["Guarantee", "Theorem", "Assumes", "Accuracy"], napoleon_use_ivar=True
)


def _google_sections(  # noqa: PLR0913  # what autodoc hands over
    app: Sphinx, what: Any, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Sections such as ``Args:``; the first line of a property is a sentence, and names no type."""
    if what not in {"attribute", "data", "property"}:
        lines[:] = GoogleDocstring(lines, _SECTIONS, app, what, name, value, options).lines()


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _google_sections)
