"""Tables as HTML, LaTeX and Markdown: one look for everything that a notebook or a paper shows."""
