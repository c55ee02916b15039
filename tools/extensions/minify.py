"""One style sheet and one script for every page, with nothing in them that no page uses.

The pages are taken as Sphinx has written them: what all of them load is joined.
"""

import base64
import logging
import re
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import tinycss2
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

# the theme's icons are drawn by their fonts, and exercises look as our own styles say
LEFT_OUT = {"scripts/fontawesome.js", "exercise.css"}
STYLE = re.compile(
    r'<link\b(?=[^>]*\brel="(?:stylesheet|preload)")[^>]*?'
    r'\bhref="(?P<base>[^"]*)_static/(?P<name>[^"?]+)[^>]*>\s*'
)
SCRIPT = re.compile(
    r'<script\b[^>]*?\bsrc="(?P<base>[^"]*)_static/(?P<name>[^"?]+)[^>]*></script>\s*'
)
# they say what only a choice among versions of the site would read
OPTIONS = re.compile(r"<script>DOCUMENTATION_OPTIONS\.[^<]*</script>\s*")
IMPORT = re.compile(r'@import\s+"([^"]+)";')
FONT_FACE = re.compile(r"@font-face\s*\{[^}]*Font Awesome[^}]*url\(([^)]*)\.woff2\)[^}]*\}")
ICON = re.compile("[\ue000-\uf8ff]")
DARK_RULE = re.compile(r"([^{}]*\[data-theme=\"?dark\"?\][^{}]*)(\{[^{}]*\})")
LIGHT, DARK = (re.compile(rf"\[data-theme=\"?{scheme}\"?\]") for scheme in ("light", "dark"))
UNCHOSEN = "[data-theme=auto]"
# it says each of its steps
logging.getLogger("fontTools.subset").setLevel(logging.WARNING)


def minify(app, exception):
    """Join the styles and the scripts, link the pages to them, and delete what no page asks for."""
    if exception:
        return
    static = Path(app.outdir, "_static")
    paths = (path for path in Path(app.outdir).rglob("*.html") if static not in path.parents)
    pages = {path: path.read_text("utf-8") for path in paths}
    # the pages that Sphinx has left as they were have the joined files already
    fresh = [text for text in pages.values() if "_static/site.css" not in text]
    if not fresh:
        return
    styles = [name for name in shared(STYLE, fresh) if name.endswith(".css")]
    scripts = shared(SCRIPT, fresh)
    css = "\n".join(style(static / name) for name in styles)
    script = ";\n".join((static / name).read_text("utf-8") for name in scripts)
    script = re.sub(r"//# sourceMappingURL=.*", "", script)
    version = sha256((css + script).encode()).hexdigest()[:8]
    gone = {*styles, *scripts, *LEFT_OUT, "site.css", "site.js"}
    links = {
        STYLE: rf'<link rel="stylesheet" href="\g<base>_static/site.css?v={version}" />\n',
        SCRIPT: rf'<script defer src="\g<base>_static/site.js?v={version}"></script>\n',
    }
    for path, text in pages.items():
        # what a page loads besides comes after what all load
        pages[path] = OPTIONS.sub("", text).replace("<script src=", "<script defer src=")
        for pattern, link in links.items():
            pages[path] = linked(pages[path], pattern, link, gone)
        if pages[path] != text:
            path.write_text(pages[path], "utf-8")
    used = names_used(pages.values(), script + (static / "searchtools.js").read_text("utf-8"))
    (static / "site.css").write_text(pruned(css, used, static, Path(app.doctreedir)), "utf-8")
    (static / "site.js").write_text(script, "utf-8")
    tidy(static, pages.values())


def shared(pattern: re.Pattern, pages: list[str]) -> list[str]:
    """The files that all of these pages load, in their order."""
    first, *others = ([found["name"] for found in pattern.finditer(text)] for text in pages)
    return [name for name in first if name not in LEFT_OUT and all(name in one for one in others)]


def style(path: Path) -> str:
    """A style sheet with those that it imports, and addresses as they are from _static."""
    css = path.read_text("utf-8").replace("url(../", "url(")
    return IMPORT.sub(lambda found: style((path.parent / found[1]).resolve()), css)


def linked(page: str, pattern: re.Pattern, link: str, gone: set[str]) -> str:
    """A page with one link in place of those to the files that are joined."""
    links = iter([link])
    return pattern.sub(
        lambda found: found.expand(next(links, "")) if found["name"] in gone else found[0], page
    )


def names_used(pages, scripts: str) -> set[str]:
    """The classes of the pages, and every word of the scripts, which may make a class of it."""
    classes = (names for page in pages for names in re.findall(r'class="([^"]*)"', page))
    return {*re.findall(r"[\w-]+", scripts), *(name for some in classes for name in some.split())}


def pruned(css: str, used: set[str], static: Path, kept: Path) -> str:
    """The styles that match something, for both colour schemes, with their icons in them."""
    # reading the theme's styles takes a second, and an edit of a text seldom changes the outcome
    matter = sorted(used & set(re.findall(r"[\w-]+", css)))
    known = (
        kept / f"{sha256(f'{css}{matter}{Path(__file__).read_text()}'.encode()).hexdigest()}.css"
    )
    if not known.is_file():
        rules = tinycss2.parse_stylesheet(css, skip_whitespace=True)
        known.write_text(with_icons(follow_preference(prune(rules, used)), static), "utf-8")
    return known.read_text("utf-8")


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


def wanted(selector: str, used: set[str]) -> bool:
    """Whether an element of the pages may match; what stands in brackets is not looked at."""
    bare = re.sub(r"\([^()]*\)|\[[^\]]*\]", "", re.sub(r"\([^()]*\)", "", selector))
    return all(name in used for name in re.findall(r"\.(-?[A-Za-z_][\w-]*)", bare))


def follow_preference(css: str) -> str:
    """The styles that give a page, where no script chooses its scheme, that which is preferred."""
    dark = "".join(
        DARK.sub(UNCHOSEN, selectors.strip()) + body
        for selectors, body in DARK_RULE.findall(re.sub(r"/\*.*?\*/", "", css, flags=re.S))
    )
    light = LIGHT.sub(rf":is(\g<0>,{UNCHOSEN})", css)
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"


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


def tidy(static: Path, pages) -> None:
    """Delete every file that no page, style or script names; licences stay."""
    joined = [(static / name).read_text("utf-8") for name in ("site.css", "site.js")]
    named = {name for text in (*pages, *joined) for name in re.findall(r"[\w.-]+\.\w+", text)}
    for path in sorted(static.rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.name not in named and "LICENSE" not in path.name:
            path.unlink()


def setup(app):
    """Register with Sphinx."""
    app.connect("build-finished", minify, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
