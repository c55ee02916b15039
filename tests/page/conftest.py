"""The editors are used in a browser."""

from tests.browser import address, browser, names, new_tab, site, tab  # noqa: F401
