"""Configuration of `make docs`: Markdown pages, and an API reference read from the stubs."""

import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent
_VERSION = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
assert _VERSION is not None

project = "streamlog"
release = _VERSION[1]
project_copyright = "the authors of streamlog"

extensions = ["myst_parser", "autoapi.extension", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "attrs_block"]
myst_heading_anchors = 3

# autoapi parses the stubs without importing them, so the pages need no wheel.
autoapi_dirs = [str(ROOT / "python" / "streamlog")]
autoapi_generate_api_docs = False
autoapi_add_toctree_entry = False
autoapi_keep_files = False
autoapi_options = ["members", "imported-members"]
autoapi_python_class_content = "both"
suppress_warnings = ["autoapi.python_import_resolution"]
autoapi_member_order = "bysource"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
add_module_names = False
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = f"streamlog {release}"
html_favicon = "pictures/icon-light.svg"
html_theme_options = {"light_logo": "icon-light.svg", "dark_logo": "icon-dark.svg"}
html_static_path = ["_static", "pictures/icon-light.svg", "pictures/icon-dark.svg"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"

# The copy button leaves out prompts and the output of commands.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

_OF_OBJECT = (
    "Create and return a new object.  See help(type) for accurate signature.",
    "Initialize self.  See help(type(self)) for accurate signature.",
)


def setup(app: Sphinx) -> None:
    """Removes the docstring that classes without a constructor inherit from `object`."""
    app.connect("autodoc-process-docstring", _remove_docstring_of_object)


def _remove_docstring_of_object(*arguments: object) -> None:
    lines = arguments[-1]
    assert isinstance(lines, list)
    lines[:] = [line for line in lines if line.strip() not in _OF_OBJECT]
