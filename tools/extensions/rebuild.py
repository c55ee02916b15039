"""An edit reaches every page that shows it, however Sphinx judges by dates and by single pages."""

from hashlib import sha256
from pathlib import Path


def edited(app, env, added, changed, removed) -> list[str]:
    """The pages whose text has changed: Sphinx trusts dates, and misses an edit while it reads."""
    before = getattr(env, "attncourse_texts", {})
    env.attncourse_texts = {
        name: sha256(Path(env.doc2path(name)).read_bytes()).hexdigest() for name in env.found_docs
    }
    return [name for name, text in env.attncourse_texts.items() if before.get(name) != text]


def setup(app):
    app.connect("env-get-outdated", edited)
    # any page may show a name, a number or a title of another: all are written
    app.connect("env-get-updated", lambda app, env: sorted(env.found_docs))
