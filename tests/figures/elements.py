"""The HTML of an interactive figure, parsed before any script runs."""

from html.parser import HTMLParser


class Elements(HTMLParser):
    """Parses HTML into elements and slot texts; fails where the tags do not match."""

    def __init__(self, html):
        super().__init__()
        self.open, self.elements, self.texts = [], [], {}
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert len(dict(attributes)) == len(attributes)
        self.elements.append((tag, dict(attributes)))
        if tag != "input":
            self.open.append((tag, dict(attributes)))
            if slot := dict(attributes).get("data-show"):
                self.texts.setdefault(slot, []).append("")

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if slot := self.open and self.open[-1][1].get("data-show"):
            self.texts[slot][-1] += data


def slot_texts(figure) -> dict[str, list[str]]:
    """The texts of the slots of a figure before any script runs, by slot name."""
    return Elements(figure._repr_html_()).texts
