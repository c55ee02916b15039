"""An edit reaches every page that shows it, however Sphinx judges by dates and by single pages."""

from copy import deepcopy
from hashlib import sha256
from pathlib import Path


def edited(app, env, added, changed, removed) -> list[str]:
    """The pages whose text has changed: Sphinx trusts dates, and misses an edit while it reads."""
    before = getattr(env, "attncourse_texts", {})
    env.attncourse_texts = {
        name: sha256(Path(env.doc2path(name)).read_bytes()).hexdigest() for name in env.found_docs
    }
    return [name for name, text in env.attncourse_texts.items() if before.get(name) != text]


def mentioned(app, env) -> list[str]:
    """Every page is written again when a name, a number or a title has changed: it may show it."""
    before = getattr(env, "attncourse_names", None)
    domains = [env.get_domain(name).data for name in ("std", "math", "py")]
    titles = {name: title.astext() for name, title in env.titles.items()}
    env.attncourse_names = deepcopy((domains, env.toc_secnumbers, env.toc_fignumbers, titles))
    return [] if before == env.attncourse_names else sorted(env.found_docs)


def setup(app):
    app.connect("env-get-outdated", edited)
    # after Sphinx has numbered sections and figures
    app.connect("env-get-updated", mentioned, priority=900)
