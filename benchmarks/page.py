"""What a check in a page takes, from the press of the button to the sentence.

Seconds of the processor that the page and its worker use, which depend little on what else the
machine does; four times as many, as on a processor that is four times as slow, since what Chromium
slows of a page is not its worker; and seconds of a clock. The first check loads Python, from a
server on the same machine; after `Stop`, Python starts again from what the browser has kept. Before
the button is pressed an answer has been written for ten seconds, in which a page prepares its
check; two thirds of the answers are wrong, and one third is wrong in a way that no exercise knows.
The answer of the last row is a test, which is tried on many implementations.
"""

import argparse
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright
from timing import RESULTS, machine_info, markdown_table

from attncourse.course import exercise, exercises
from judge.exercise_text import with_first_line
from tools.chromium import FLAGS, chromium_path

SITE = Path(__file__).parents[1] / "_build" / "html"
# seconds for which an answer is written
WRITTEN = 10
CHAPTER, NAME, TEST = "dot_product", "softmax_with_sink", "test_attention"
HEADINGS = ("check", "processor, s", "four times slower, s", "clock, s")


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site, and logs nothing."""

    def log_message(self, format, *args):
        """Log no requests."""


def worked(name: str) -> str:
    return with_first_line(name, exercise(name).task.code("answer"))


def some_answers(most: int) -> list[tuple[str, str]]:
    """Some worked answers of the chapter, each with one small mistake, beside the right ones."""
    names = [name for name in exercises(CHAPTER) if not exercise(name).is_test]
    edits = [("~mask", "mask"), ("dim=-1", "dim=-2"), ("return ", "return 2 * ")]
    found = []
    for name in names:
        text = worked(name)
        found += [(name, text.replace(*edit)) for edit in edits if edit[0] in text] + [(name, text)]
    return found[:most]


class Check(NamedTuple):
    """Seconds until an answer was judged: of the processor, and of a clock."""

    processor: float
    clock: float


class Reader:
    """Somebody who checks answers on the page of a chapter's exercises."""

    def __init__(self, browser: Browser, address: str):
        self.page = browser.new_page()
        self.processes = browser.new_browser_cdp_session()
        self.page.goto(f"{address}exercises/{CHAPTER}.html")
        self.is_loaded = False

    def processor(self) -> float:
        """Seconds that the page has used of the processor, its worker's included."""
        infos = self.processes.send("SystemInfo.getProcessInfo")["processInfo"]
        return sum(one["cpuTime"] for one in infos if one["type"] == "renderer")

    def check(self, name: str, source: str) -> Check:
        box = self.page.locator(f"[data-answer={name}]")
        box.locator("textarea").fill(source)
        if self.is_loaded:
            time.sleep(WRITTEN)
        used, start = self.processor(), time.monotonic()
        box.locator("[data-do=check]").click()
        box.locator("[data-wait]").wait_for(state="hidden", timeout=300_000)
        self.is_loaded = True
        return Check(self.processor() - used, time.monotonic() - start)

    def stop(self) -> None:
        """Begin a check that never ends, and stop it."""
        box = self.page.locator(f"[data-answer={NAME}]")
        box.locator("textarea").fill("while True: pass")
        box.locator("[data-do=check]").click()
        box.locator("[data-do=stop]").click()
        self.is_loaded = False


def measure(address: str, most: int) -> dict[str, list[Check]]:
    """The checks of each row."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        reader = Reader(browser, address)
        checks = {"the first": [reader.check(NAME, worked(NAME))]}
        checks["later ones"] = [reader.check(*one) for one in some_answers(most)]
        reader.stop()
        checks["after Stop"] = [reader.check(NAME, worked(NAME))]
        checks["a test"] = [reader.check(TEST, worked(TEST))]
        browser.close()
    return checks


def rows(checks: dict[str, list[Check]]) -> Iterator[tuple[str, ...]]:
    """Each check; of several the median, the 95th percentile and the longest."""
    for name, some in checks.items():
        some = sorted(some)
        chosen = {name: some[0]} if len(some) == 1 else {
            f"{name} ({len(some)}), median": some[len(some) // 2],
            f"{name}, 95 %": some[int(0.95 * len(some))],
            f"{name}, longest": some[-1],
        }  # fmt: skip
        for words, (processor, clock) in chosen.items():
            yield words, f"{processor:.2f}", f"{4 * processor:.1f}", f"{clock:.2f}"


def main() -> None:
    """Measure on the built site, and write the table to the results."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--most", type=int, default=40, help="later checks")
    handler = partial(Quiet, directory=SITE)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        checks = measure(f"http://127.0.0.1:{server.server_port}/", arguments.parse_args().most)
        server.shutdown()
    table = markdown_table(HEADINGS, list(rows(checks)))
    print(table)
    (RESULTS / "page.md").write_text(
        f"# What a check in a page takes\n\n{machine_info()}\n\n"
        f"{' '.join(__doc__.split())}\n\n{table}",
        "utf-8",
    )


if __name__ == "__main__":
    main()
