// what Sphinx's search shows of a page is its text, and says which place of the page was found
{
  const NOT_TEXT = "h1, .page-time, .folded, .learner, .headerlink, script, style";
  const NOTHING =
    "Your search did not match any documents. Please make sure that all words are spelled " +
    "correctly and that you've selected enough categories.";

  // a page opened from a folder may not read the others, from which the search cuts its excerpts
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  Documentation.TRANSLATIONS[NOTHING] =
    "Nothing was found. A page is found only if it has all of the words: try fewer, or others.";

  function textOf(html, anchor) {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const one of page.querySelectorAll(NOT_TEXT)) one.remove();
    for (const one of page.querySelectorAll("dt, dd, h2, h3, li, p, td, th")) one.append(" ");
    const named = anchor ? page.getElementById(anchor.slice(1)) : null;
    // what is said of a term stands beside it
    const place = named?.matches("dt") ? named.nextElementSibling : named;
    return (place ?? page.querySelector("article"))?.textContent.replace(/\s+/g, " ") ?? "";
  }

  // the stem of a word, as “entropi”, need not stand in a text as it is
  function literal(stem, text) {
    let start = stem;
    while (start.length > 3 && !text.includes(start)) start = start.slice(0, -1);
    return text.includes(start) ? start : "";
  }

  function mend() {
    const { makeSearchSummary } = Search;
    Search.htmlToText = textOf;
    Search.makeSearchSummary = (html, stems, anchor) => {
      const text = textOf(html, anchor).toLowerCase();
      return makeSearchSummary(html, [...stems].map((stem) => literal(stem, text)), anchor);
    };
  }

  // before the index comes, with which the search begins
  document.querySelector('script[src*="searchtools.js"]')?.addEventListener("load", mend);
}
