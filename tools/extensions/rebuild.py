"""An edit reaches every page that shows it, however Sphinx judges by dates and by single pages."""

from hashlib import sha256
from pathlib import Path


def edited(app, env, added, changed, removed) -> list[str]:
    """The pages whose text has changed: a file that was moved into place may have an old date."""
    before = getattr(env, "attncourse_texts", {})
    env.attncourse_texts = {
        name: sha256(Path(env.doc2path(name)).read_bytes()).hexdigest() for name in env.found_docs
    }
    return [name for name, text in env.attncourse_texts.items() if before.get(name) != text]


def targets(env) -> str:
    """All that a page may show of another one: names, numbers and titles."""
    found = [sorted(map(str, env.domains[name].get_objects())) for name in sorted(env.domains)]
    numbers = env.domains["math"].equations, env.toc_secnumbers, env.toc_fignumbers
    titles = {name: title.astext() for name, title in env.titles.items()}
    return str(
        (found, [sorted(map(str, some.items())) for some in numbers], sorted(titles.items()))
    )


def mentioned(app, env) -> list[str]:
    """Every page is written again where a name, a number or a title has changed."""
    before, env.attncourse_targets = getattr(env, "attncourse_targets", None), targets(env)
    return [] if before == env.attncourse_targets else sorted(env.found_docs)


def setup(app):
    """Register with Sphinx."""
    app.connect("env-get-outdated", edited)
    # after Sphinx has numbered sections and figures
    app.connect("env-get-updated", mentioned, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
