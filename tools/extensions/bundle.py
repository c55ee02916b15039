"""One style sheet and one script for all of theme/styles and theme/scripts: two requests a page."""

from pathlib import Path

from tools.execute import source_files

THEME = Path(__file__).parents[1] / "theme"


def bundle(app):
    """Join the files of each folder, in the order of their names, where Sphinx looks for them."""
    made = Path(app.doctreedir).parent / "bundle"
    made.mkdir(parents=True, exist_ok=True)
    for folder, name, add in (
        ("styles", "attncourse.css", app.add_css_file),
        ("scripts", "attncourse.js", app.add_js_file),
    ):
        kind = Path(name).suffix
        parts = [path for path in source_files(THEME / folder) if path.suffix == kind]
        (made / name).write_text("\n".join(part.read_text("utf-8") for part in parts), "utf-8")
        add(name, **({} if folder == "styles" else {"loading_method": "defer"}))
    app.config.html_static_path.append(str(made))


def setup(app):
    """Register with Sphinx."""
    app.connect("builder-inited", bundle)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
