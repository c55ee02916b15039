"""The interactive figures are looked at in a browser."""

from tests.browser import address, browser, names, new_tab, site, tab  # noqa: F401
