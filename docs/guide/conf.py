"""How Sphinx builds the guide: `make guide`."""

from pygments.lexers import TextLexer

project = "everedge"
language = "en"
extensions = ["myst_parser"]
# The program that draws the pages is no page.
exclude_patterns = ["requirements.txt"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "everedge"
# The pages are read without the sources beside them.
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["guide.css"]


def setup(app):
    # Files of the examples.
    app.add_lexer("csv", TextLexer)
