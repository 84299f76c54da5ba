"""Settings of Sphinx; `make docs` builds the site from a copy of this folder."""

import os
from pathlib import Path

import mercer

ROOT = Path(os.environ["MERCER_ROOT"])

project = "Mercer"
author = "The Mercer developers"
copyright = "The Mercer developers, BSD-3-Clause"
version = release = mercer.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinx_blocks",
    "thumbnails",
]
exclude_patterns = ["**/sg_execution_times.rst", "sg_execution_times.rst", "_static/mathjax/*.md"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # words of docstrings; links of pages are checked
default_role = "literal"
numpydoc_show_class_members = False
autodoc_typehints = "none"
toc_object_entries = False
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "Mercer"
html_static_path = ["_static"]
html_favicon = "_static/logo.svg"
html_css_files = ["mercer.css"]
html_js_files = ["mercer.js"]
html_sidebars = {"index": [], "speed": []}  # nothing to list beside them
html_context = {"default_mode": "auto"}  # as the reader's system, until she chooses
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Mercer", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {"options": {"enableMenu": False}}

sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "capture_repr": ("_repr_html_",),
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "min_reported_time": 60,
    "image_scrapers": ("thumbnails.scraper",),
    "thumbnail_size": (320, 320),
    "reset_modules": ("matplotlib", "sphinx_blocks.styled"),
    "parallel": 2,
}
