"""One style sheet and one script for every page, with nothing in them that no page uses.

The pages are taken as Sphinx has written them: what the front page loads, all of them load. What a
screen reader stumbles over is replaced in them.
"""

import base64
import logging
import re
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from fontTools.subset import Options, Subsetter, load_font, save_font

LOADED = re.compile(
    r'<(?:link|script)\b[^>]*?\b(?:href|src)="[^"]*_static/([^"?]+\.(?:css|js))[^>]*>(?:</script>)?\s*'
)
# the theme's icons are drawn by their fonts
LEFT_OUT = "scripts/fontawesome.js"
# layout.html loads these
JOINED = ("site.css", "site.js")
# a hint that repeats a script, and what only a choice among versions of the site would read
IDLE = re.compile(r'(?:<link rel="preload"[^>]*>|<script>DOCUMENTATION_OPTIONS\.[^<]*</script>)\s*')
IMPORT = re.compile(r'@import\s+"([^"]+)";')
RULE = re.compile(r"([^{}]*)\{([^{}]*)\}")
FONT_FACE = re.compile(r"@font-face\s*\{[^}]*Font Awesome[^}]*url\(([^)]*)\.woff2\)[^}]*\}")
ICON, ESCAPED = re.compile("[\ue000-\uf8ff]"), re.compile(r"\\([ef][0-9a-f]{3})\b")
LIGHT, DARK = (re.compile(rf"\[data-theme=\"?{scheme}\"?\]") for scheme in ("light", "dark"))
UNCHOSEN = "[data-theme=auto]"
FIXES = {
    # the label would stand in for the words that say what is folded
    '<summary aria-label="Toggle hidden content">': "<summary>",
    # a role that is deprecated, and no part of the list around it
    'role="doc-biblioentry"': 'role="listitem"',
    # the parameters of a long signature are no terms with definitions
    r'<dl>(?=\n<dd><em class="sig-param">)': '<dl role="presentation">',
    # in the side bar, a page with pages below it
    "(<a [^>]*>([^<]*)</a><details[^>]*><summary)>": r'\1 aria-label="Pages below \2">',
}
# it says each of its steps
logging.getLogger("fontTools.subset").setLevel(logging.WARNING)


def minify(app, exception):
    """Join the styles and the scripts, and delete what no page asks for."""
    if exception or app.builder.name != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    names = loaded((out / "index.html").read_text("utf-8"))
    paths = [path for path in out.rglob("*.html") if static not in path.parents]
    pages = {path: trimmed(path.read_text("utf-8"), {*names, LEFT_OUT}) for path in paths}
    script = ";\n".join(
        (static / name).read_text("utf-8") for name in names if name.endswith(".js")
    )
    css = "\n".join(style(static / name) for name in names if name.endswith(".css"))
    used = names_used(pages.values(), script)
    css = with_icons(follow_preference(prune(css, used)), static)
    version = sha256((css + script).encode()).hexdigest()[:8]
    # a page for a wrong address has its style in it: nobody knows in which folder it is shown
    lost = out / "404.html"
    here = f"<style>{css}</style>"
    pages[lost] = re.sub(r'<link[^>]*site\.css"[^>]*>', lambda _: here, pages[lost])
    for path, text in pages.items():
        path.write_text(re.sub(r'(site\.(css|js))"', rf'\1?v={version}"', text), "utf-8")
    for name, text in zip(JOINED, (css, script), strict=True):
        (static / name).write_text(text, "utf-8")
    tidy(static, " ".join((*pages.values(), css, script)))


def loaded(page: str) -> list[str]:
    """The styles and scripts of _static that a page loads, in their order."""
    names = LOADED.findall(IDLE.sub("", page))
    return [name for name in names if name not in (*JOINED, LEFT_OUT)]


def trimmed(page: str, gone: set[str]) -> str:
    """A page, fixed, without these styles and scripts; its others come after what all load."""
    for wrong, right in FIXES.items():
        page = re.sub(wrong, right, page)
    page = LOADED.sub(lambda found: "" if found[1] in gone else found[0], IDLE.sub("", page))
    return page.replace("<script src=", "<script defer src=")


def style(path: Path) -> str:
    """A style sheet with those that it imports, and addresses as they are from _static."""
    css = path.read_text("utf-8").replace("url(../", "url(")
    return IMPORT.sub(lambda found: style((path.parent / found[1]).resolve()), css)


def names_used(pages, scripts: str) -> set[str]:
    """The classes of the pages, and every word of the scripts, which may make a class of it."""
    classes = (names for page in pages for names in re.findall(r'class="([^"]*)"', page))
    return {*re.findall(r"[\w-]+", scripts), *(name for some in classes for name in some.split())}


def prune(css: str, used: set[str]) -> str:
    """The styles without the rules that match nothing; notices of licences come first."""
    notices = "".join(re.findall(r"/\*!.*?\*/", css, flags=re.S))

    def kept(rule: re.Match) -> str:
        selectors = re.split(r",(?![^(]*\))", rule[1])
        return rule[0] if any(wanted(selector, used) for selector in selectors) else ""

    css = RULE.sub(kept, re.sub(r"/\*.*?\*/", "", css, flags=re.S))
    return notices + re.sub(r"@[^{};]+\{\s*\}", "", css)


def wanted(selector: str, used: set[str]) -> bool:
    """Whether an element of the pages may match; what stands in brackets is not looked at."""
    bare = re.sub(r"\([^()]*\)|\[[^\]]*\]", "", re.sub(r"\([^()]*\)", "", selector))
    return all(name in used for name in re.findall(r"\.(-?[A-Za-z_][\w-]*)", bare))


def follow_preference(css: str) -> str:
    """The styles that give a page, where no script chooses its scheme, that which is preferred."""
    dark = (
        f"{DARK.sub(UNCHOSEN, selectors.strip())}{{{body}}}"
        for selectors, body in RULE.findall(css)
        if DARK.search(selectors)
    )
    light = LIGHT.sub(rf":is(\g<0>,{UNCHOSEN})", css)
    return f"{light}@media (prefers-color-scheme:dark){{{''.join(dark)}}}"


def with_icons(css: str, static: Path) -> str:
    """The styles with the icons that they name, and no others, in them."""
    css = ESCAPED.sub(lambda code: chr(int(code[1], 16)), css)
    icons = {ord(icon) for icon in ICON.findall(css)}

    def embed(face: re.Match) -> str:
        options = Options(flavor="woff2", layout_features=[], name_IDs=[], recalc_bounds=True)
        font, written = load_font(static / f"{face[1]}.woff2", options), BytesIO()
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=icons)
        subsetter.subset(font)
        save_font(font, written, options)
        data = base64.b64encode(written.getvalue()).decode()
        return re.sub(r"src:[^;}]*", f"src:url(data:font/woff2;base64,{data})", face[0])

    return FONT_FACE.sub(embed, css)


def tidy(static: Path, texts: str) -> None:
    """Delete every file that no page, style or script names; licences stay."""
    named = set(re.findall(r"[\w.-]+\.\w+", texts))
    for path in static.rglob("*"):
        if path.is_file() and path.name not in named and "LICENSE" not in path.name:
            path.unlink()


def setup(app):
    app.connect("build-finished", minify, priority=900)
