"""One style sheet and one script for every page, with nothing in them that no page uses."""

import base64
import logging
import re
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import tinycss2
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.errors import ExtensionError

# the theme's templates name these themselves; fontawesome.js only draws again what its fonts draw
FIRST_STYLES = ("_static/basic.css", "_static/styles/pydata-sphinx-theme.css")
LAST_SCRIPTS = ("_static/scripts/bootstrap.js", "_static/scripts/pydata-sphinx-theme.js")
TABS = "design-tabs.js"
# no page runs its cells, and a page with tabs asks for their script itself
LEFT_OUT = {f"_static/{name}" for name in ("sphinx-thebe.css", "sphinx-thebe.js", TABS)}
# it says each of its steps
logging.getLogger("fontTools.subset").setLevel(logging.WARNING)

FONT_FACE = re.compile(r"@font-face\s*\{[^}]*Font Awesome[^}]*url\(([^)]*)\.woff2\)[^}]*\}")
ICON = re.compile("[\ue000-\uf8ff]")


def parts(builder) -> tuple[list[Path], list[Path | str]]:
    """The styles and the scripts of every page, in the order in which it would load them."""
    out = Path(builder.outdir)
    styles = [*FIRST_STYLES, *(asset.filename for asset in builder._orig_css_files)]
    scripts = [
        out / asset.filename if asset.filename else asset.attributes["body"]
        for asset in builder._orig_js_files
        if asset.filename not in LEFT_OUT and "THEBE" not in asset.attributes.get("body", "")
    ]
    return (
        [out / name for name in styles if name not in LEFT_OUT],
        [*scripts, *(out / name for name in LAST_SCRIPTS)],
    )


def read(part: Path | str) -> str:
    """What a part says; nothing yet where it is written last, and then its name tells it apart."""
    if isinstance(part, str):
        return part
    return part.read_text("utf-8") if part.is_file() else part.name


def link(app, pagename, templatename, context, doctree):
    """Leave a page's own files to its links: those of every page come in the joined ones."""
    builder = app.builder
    if not hasattr(app, "site_version"):
        said = "".join(read(part) for some in parts(builder) for part in some)
        app.site_version = sha256(said.encode()).hexdigest()[:8]
    context["site_version"] = app.site_version
    every = {asset.filename for asset in (*builder._orig_css_files, *builder._orig_js_files)}
    for kind in ("css_files", "script_files"):
        context[kind] = [
            asset for asset in context[kind] if asset.filename and asset.filename not in every
        ]
    if "sd-tab-set" in context.get("body", ""):
        context["script_files"] += [
            asset for asset in builder._orig_js_files if asset.filename == f"_static/{TABS}"
        ]


def names_used(pages: list[str], scripts: str) -> set[str]:
    """The classes of the pages, and every word of the scripts, which may make a class of it."""
    return {
        *re.findall(r"[\w-]+", scripts),
        *(
            name
            for page in pages
            for names in re.findall(r'class="([^"]*)"', page)
            for name in names.split()
        ),
    }


def wanted(selector: str, used: set[str]) -> bool:
    """Whether an element of the pages may match; what stands in brackets is not looked at."""
    bare = re.sub(r"\([^()]*\)|\[[^\]]*\]", "", re.sub(r"\([^()]*\)", "", selector))
    return all(name in used for name in re.findall(r"\.(-?[A-Za-z_][\w-]*)", bare))


def prune(rules, used: set[str]) -> str:
    """The rules with those left out that match nothing."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = tinycss2.serialize(rule.prelude)
            if not any(wanted(selector, used) for selector in re.split(r",(?![^(]*\))", selectors)):
                continue
        elif rule.type == "at-rule" and rule.content and rule.lower_at_keyword == "media":
            inner = prune(tinycss2.parse_rule_list(rule.content, skip_whitespace=True), used)
            kept.append(f"@media{tinycss2.serialize(rule.prelude)}{{{inner}}}" if inner else "")
            continue
        elif rule.type == "comment" and not rule.value.startswith("!"):
            continue
        kept.append(rule.serialize())
    return "".join(kept)


def with_icons(css: str, static: Path) -> str:
    """The styles with the icons that they name, and no others, in them."""
    icons = {ord(icon) for icon in ICON.findall(css)}

    def embed(face: re.Match) -> str:
        # the same icons are the same bytes, whenever they are built
        font = TTFont(static / f"{face[1]}.ttf", recalcTimestamp=False)
        subsetter = Subsetter(Options(layout_features=[], name_IDs=[], notdef_outline=False))
        subsetter.populate(unicodes=icons)
        subsetter.subset(font)
        font.flavor, written = "woff2", BytesIO()
        font.save(written)
        data = base64.b64encode(written.getvalue()).decode()
        source = f'src:url(data:font/woff2;base64,{data}) format("woff2")'
        return re.sub(r"src:[^;}]*", source, face[0])

    return FONT_FACE.sub(embed, css)


def write(app, exception):
    """Write the joined files, and take away what no page asks for."""
    if exception or not hasattr(app, "site_version"):
        return
    out = Path(app.outdir)
    static = out / "_static"
    styles, scripts = parts(app.builder)
    lacking = [
        part for part in (*styles, *scripts) if isinstance(part, Path) and not part.is_file()
    ]
    if lacking:
        names = ", ".join(str(part.relative_to(out)) for part in lacking)
        raise ExtensionError(f"_config.yml or an extension names what is no file here: {names}")
    css = "\n".join(read(part).replace("url(../", "url(") for part in styles)
    script = re.sub(r"//# sourceMappingURL=.*", "", ";\n".join(map(read, scripts)))
    pages = [path.read_text("utf-8") for path in out.rglob("*.html") if static not in path.parents]
    used = names_used(pages, script + read(static / "searchtools.js"))
    known = Path(app.doctreedir) / "site.css"
    # reading the theme's styles takes a second, and an edit of a text seldom changes the outcome
    matter = sorted(used & set(re.findall(r"[\w-]+", css)))
    key = sha256(f"{css}{matter}{app.config.made_with}".encode()).hexdigest()
    if not known.is_file() or not known.read_text("utf-8").endswith(key):
        rules = tinycss2.parse_stylesheet(css, skip_whitespace=True)
        known.write_text(with_icons(prune(rules, used), static) + key, "utf-8")
    (static / "site.css").write_text(known.read_text("utf-8").removesuffix(key), "utf-8")
    (static / "site.js").write_text(script, "utf-8")
    tidy(static, pages)


def tidy(static: Path, pages: list[str]) -> None:
    """Delete every file that no page, style or script names; licences stay."""
    named = {
        name
        for text in (*pages, *(path.read_text("utf-8") for path in kept(static)))
        for name in re.findall(r"[\w.-]+\.\w+", text)
    }
    for path in sorted(static.rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.name not in named and "LICENSE" not in path.name:
            path.unlink()


def kept(static: Path) -> list[Path]:
    """The files in _static that name others."""
    return [static / "site.css", static / "site.js"]


def setup(app):
    """Register with Sphinx."""
    # after every other part has said what it needs
    app.connect("html-page-context", link, priority=900)
    app.connect("build-finished", write, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
