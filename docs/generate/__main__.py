"""Write every generated page."""

from pathlib import Path

from docs.generate import PAGES

for path, text in PAGES.items():
    (Path(__file__).parents[2] / path).write_text(text(), encoding="utf-8")
