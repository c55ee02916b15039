"""An interactive figure as Python has written it, before a script runs."""

from html.parser import HTMLParser


class Elements(HTMLParser):
    """The elements of a piece of HTML; fails where one is closed that was not open."""

    def __init__(self, html):
        super().__init__()
        self.open, self.found, self.texts = [], [], {}
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert len(dict(attributes)) == len(attributes)
        self.found.append((tag, dict(attributes)))
        if tag != "input":
            self.open.append((tag, dict(attributes)))
            if slot := dict(attributes).get("data-show"):
                self.texts.setdefault(slot, []).append("")

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if slot := self.open and self.open[-1][1].get("data-show"):
            self.texts[slot][-1] += data


def begins(figure) -> dict[str, list[str]]:
    """What each slot of a figure shows, the empty ones too."""
    return Elements(figure._repr_html_()).texts
