// a page opened from a folder may not read the others, from which the search cuts its excerpts
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// a formula stands on its page three times: drawn, for screen readers, and as TeX
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  const textOf = Search.htmlToText;
  Search.htmlToText = (html, ...more) =>
    textOf(html.replace(/<span class="katex-mathml">.*?<\/math><\/span>/gs, ""), ...more);
});
