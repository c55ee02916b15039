// Sphinx's search, made to find sections, to quote their prose and to leave no marks on other pages
{
  const NOT_PROSE = "h1, h2, h3, pre, .page-time, .folded, .learner, .headerlink, script, style, summary, svg";
  const MOST = 40;
  const read = new Map();

  // a page opened from a folder may not read the others, from which the search cuts its excerpts
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

  function pageOf(html) {
    if (!read.has(html)) {
      const page = new DOMParser().parseFromString(html, "text/html");
      for (const one of page.querySelectorAll(NOT_PROSE)) one.remove();
      for (const one of page.querySelectorAll("dt, dd, li, p, td, th")) one.append(" ");
      read.set(html, page);
    }
    return read.get(html);
  }

  function textOf(html, anchor) {
    const page = pageOf(html);
    const named = anchor ? page.getElementById(anchor.slice(1)) : page.querySelector("article section");
    // what is said of a term stands below it and its synonyms
    const told = named?.matches("dt") ? named.parentElement.querySelector(`#${named.id} ~ dd`) : named;
    const place = told?.cloneNode(true);
    for (const inner of place?.querySelectorAll("section") ?? []) inner.remove();
    return place?.textContent.replace(/\s+/g, " ").trim() ?? "";
  }

  // the index calls a section `page#anchor`
  function toSection([name, title, anchor, ...more]) {
    const [page, section] = name.split("#");
    const { docnames, titles } = Search._index;
    const around = section ? `${titles[docnames.indexOf(page)]} › ${title}` : title;
    return [page, around, anchor || (section ? `#${section}` : ""), ...more];
  }

  // of what is found alike, a term comes before the chapters, and these before all else
  function rank([name, , , , score]) {
    return score + (name.includes("#term-") ? 1 : name.startsWith("chapters/") ? 0 : -1);
  }

  // before the index comes, with which the search begins
  document.querySelector('script[src*="searchtools.js"]')?.addEventListener("load", () => {
    const search = Search._performSearch;
    Scorer.score = rank;
    Search.htmlToText = textOf;
    Search._performSearch = (...query) => {
      localStorage.removeItem("sphinx_highlight_terms");
      const places = new Map();
      // the best come last
      for (const one of search(...query).map(toSection)) {
        const place = one[0] + one[2];
        places.delete(place);
        places.set(place, one);
      }
      return [...places.values()].slice(-MOST);
    };
  });
}
