"""Bundle styles and scripts into site.css and site.js, without the rules that no page uses.

It edits the pages that Sphinx has written: every page loads the assets of the front page. Markup
that confuses screen readers is replaced.
"""

import base64
import logging
import re
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from fontTools.subset import Options, Subsetter, load_font, save_font

ASSET_TAG = re.compile(
    r'<(?:link|script)\b[^>]*?\b(?:href|src)="[^"]*_static/([^"?]+\.(?:css|js))[^>]*>(?:</script>)?\s*'
)
# the theme also loads the icons as fonts, which are enough
ICON_SCRIPT = "scripts/fontawesome.js"
# the files that layout.html loads
BUNDLES = ("site.css", "site.js")
# preload hints, and options that only a switcher of versions would read
UNUSED_TAGS = re.compile(
    r'(?:<link rel="preload"[^>]*>|<script>DOCUMENTATION_OPTIONS\.[^<]*</script>)\s*'
)
IMPORT = re.compile(r'@import\s+"([^"]+)";')
RULE = re.compile(r"([^{}]*)\{([^{}]*)\}")
FONT_FACE = re.compile(r"@font-face\s*\{[^}]*Font Awesome[^}]*url\(([^)]*)\.woff2\)[^}]*\}")
ICON, ESCAPED = re.compile("[\ue000-\uf8ff]"), re.compile(r"\\([ef][0-9a-f]{3})\b")
LIGHT, DARK = (re.compile(rf"\[data-theme=\"?{scheme}\"?\]") for scheme in ("light", "dark"))
AUTO_SCHEME = "[data-theme=auto]"
FIXES = {
    # a deprecated role, which does not fit the list around it
    'role="doc-biblioentry"': 'role="listitem"',
    # the parameters of a long signature are no terms with definitions
    r'<dl>(?=\n<dd><em class="sig-param">)': '<dl role="presentation">',
    # in the side bar, a page with subpages
    "(<a [^>]*>([^<]*)</a><details[^>]*><summary)>": r'\1 aria-label="Pages below \2">',
}
# it logs each of its steps
logging.getLogger("fontTools.subset").setLevel(logging.WARNING)


def minify(app, exception):
    """Write the two bundles, make all pages load them, and delete unused files."""
    if exception or app.builder.name != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    names = loaded_names((out / "index.html").read_text("utf-8"))
    paths = [path for path in out.rglob("*.html") if static not in path.parents]
    pages = {path: clean_page(path.read_text("utf-8"), {*names, ICON_SCRIPT}) for path in paths}
    script = ";\n".join(
        (static / name).read_text("utf-8") for name in names if name.endswith(".js")
    )
    css = "\n".join(resolve_imports(static / name) for name in names if name.endswith(".css"))
    used = used_names(pages.values(), script)
    css = embed_icons(add_preferred_scheme(prune_rules(css, used)), static)
    version = sha256((css + script).encode()).hexdigest()[:8]
    # the 404 page has its style inline, because the folder of a wrong address is not known
    not_found = out / "404.html"
    inline_style = f"<style>{css}</style>"
    pages[not_found] = re.sub(
        r'<link[^>]*site\.css"[^>]*>', lambda _: inline_style, pages[not_found]
    )
    for path, text in pages.items():
        path.write_text(re.sub(r'(site\.(css|js))"', rf'\1?v={version}"', text), "utf-8")
    for name, text in zip(BUNDLES, (css, script), strict=True):
        (static / name).write_text(text, "utf-8")
    delete_unnamed_files(static, " ".join((*pages.values(), css, script)))


def loaded_names(page: str) -> list[str]:
    """The names of the styles and scripts in _static that a page loads, in order."""
    names = ASSET_TAG.findall(UNUSED_TAGS.sub("", page))
    return [name for name in names if name not in (*BUNDLES, ICON_SCRIPT)]


def clean_page(page: str, removed: set[str]) -> str:
    """A page with FIXES, without the removed assets; its other scripts are deferred."""
    for wrong, right in FIXES.items():
        page = re.sub(wrong, right, page)
    page = ASSET_TAG.sub(
        lambda match: "" if match[1] in removed else match[0], UNUSED_TAGS.sub("", page)
    )
    return page.replace("<script src=", "<script defer src=")


def resolve_imports(path: Path) -> str:
    """A style sheet with its imports inlined, and URLs relative to _static."""
    css = path.read_text("utf-8").replace("url(../", "url(")
    return IMPORT.sub(lambda match: resolve_imports((path.parent / match[1]).resolve()), css)


def used_names(pages, scripts: str) -> set[str]:
    """The classes in pages, and every word in scripts, which may be the name of a class."""
    classes = (names for page in pages for names in re.findall(r'class="([^"]*)"', page))
    return {*re.findall(r"[\w-]+", scripts), *(name for names in classes for name in names.split())}


def prune_rules(css: str, used: set[str]) -> str:
    """The styles without comments and unused rules; licence notices move to the top."""
    notices = "".join(re.findall(r"/\*!.*?\*/", css, flags=re.S))

    def keep_used(rule: re.Match) -> str:
        selectors = re.split(r",(?![^(]*\))", rule[1])
        return rule[0] if any(may_match(selector, used) for selector in selectors) else ""

    css = RULE.sub(keep_used, re.sub(r"/\*.*?\*/", "", css, flags=re.S))
    return notices + re.sub(r"@[^{};]+\{\s*\}", "", css)


def may_match(selector: str, used: set[str]) -> bool:
    """Whether a selector may match an element, judged by the class names outside brackets."""
    outer = re.sub(r"\([^()]*\)|\[[^\]]*\]", "", re.sub(r"\([^()]*\)", "", selector))
    return all(name in used for name in re.findall(r"\.(-?[A-Za-z_][\w-]*)", outer))


def add_preferred_scheme(css: str) -> str:
    """The styles, with the preferred colour scheme for pages whose scripts do not run."""
    dark = (
        f"{DARK.sub(AUTO_SCHEME, selectors.strip())}{{{body}}}"
        for selectors, body in RULE.findall(css)
        if DARK.search(selectors)
    )
    light = LIGHT.sub(rf":is(\g<0>,{AUTO_SCHEME})", css)
    return f"{light}@media (prefers-color-scheme:dark){{{''.join(dark)}}}"


def embed_icons(css: str, static: Path) -> str:
    """The styles with an embedded icon font, reduced to the icons that they name."""
    css = ESCAPED.sub(lambda code: chr(int(code[1], 16)), css)
    icons = {ord(icon) for icon in ICON.findall(css)}

    def embed_font(face: re.Match) -> str:
        options = Options(flavor="woff2", layout_features=[], name_IDs=[], recalc_bounds=True)
        font, buffer = load_font(static / f"{face[1]}.woff2", options), BytesIO()
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=icons)
        subsetter.subset(font)
        save_font(font, buffer, options)
        data = base64.b64encode(buffer.getvalue()).decode()
        return re.sub(r"src:[^;}]*", f"src:url(data:font/woff2;base64,{data})", face[0])

    return FONT_FACE.sub(embed_font, css)


def delete_unnamed_files(static: Path, texts: str) -> None:
    """Delete the static files whose names occur in no page, style or script, except licences."""
    names = set(re.findall(r"[\w.-]+\.\w+", texts))
    for path in static.rglob("*"):
        if path.is_file() and path.name not in names and "LICENSE" not in path.name:
            path.unlink()


def setup(app):
    app.connect("build-finished", minify, priority=900)
