// what Sphinx's search quotes of a page is its text, and not its title, its buttons and its folds
{
  const NOT_TEXT = "h1, .page-time, .folded, .learner, .headerlink, script, style";

  // a page opened from a folder may not read the others, from which the search cuts its excerpts
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

  function textOf(html, anchor) {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const one of page.querySelectorAll(NOT_TEXT)) one.remove();
    for (const one of page.querySelectorAll("dt, dd, h2, h3, li, p, td, th")) one.append(" ");
    const named = anchor ? page.getElementById(anchor.slice(1)) : null;
    // what is said of a term stands beside it
    const place = named?.matches("dt") ? named.nextElementSibling : named;
    return (place ?? page.querySelector("article"))?.textContent.replace(/\s+/g, " ") ?? "";
  }

  // before the index comes, with which the search begins
  const tools = document.querySelector('script[src*="searchtools.js"]');
  tools?.addEventListener("load", () => (Search.htmlToText = textOf));
}
