// The search page: sections.js calls this with the parts of each page, as [anchor, names, prose].
function showFound(pages) {
  const MOST = 40;
  const BEFORE = 80;
  const LENGTH = 240;
  const output = document.querySelector("#search-results");
  const query = new URLSearchParams(location.search).get("q") ?? "";
  output.parentElement.querySelector("[name=q]").value = query;

  const FUNCTION_WORD =
    /^(an?|and|are|by|can|do|does|for|from|how|i|in|is|it|of|on|or|the|to|what|when|where|which|why|with)$/;
  const SYNONYMS = { sqrt: "(?:√|sqrt|square root)" };

  // the stems of a text, under which head finds heads, and scaled scaling
  function stemsOf(text) {
    const all = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    const content = all.filter((word) => !FUNCTION_WORD.test(word));
    return (content.length ? content : all).map(
      (word) => SYNONYMS[word] ?? word.replace(/(?<=.{4})(ing|ed|es|e|s)$|(?<=^...)s$/, "")
    );
  }
  const stems = stemsOf(query);
  if (!stems.length) return;

  const count = (text, word) => [...text.matchAll(word)].length;

  // the relevance of a part to the words
  function score({ page, names, text }, words) {
    const whole = names.some((name) => stemsOf(name).join() === stems.join());
    const kind = page.endsWith("glossary") ? 6 : page.startsWith("chapters/") ? 5 : 1;
    const points = words.map(
      (word) => 10 * Math.min(count(names.join(), word), 1) + Math.min(count(text, word), 5)
    );
    return points.reduce((sum, point) => sum + point, 100 * whole + kind);
  }

  function search(start) {
    const words = stems.map((stem) => new RegExp(start + stem, "giu"));
    return Object.entries(pages)
      .flatMap(([page, parts]) => {
        const [[, [top]]] = parts;
        return parts.map(([anchor, names, text]) => {
          const title = anchor ? `${top} › ${names.join(", ")}` : top;
          const part = { page, anchor, names, text, title };
          const found = words.filter((word) => count(title + text, word)).length;
          return { ...part, found, score: score(part, words) };
        });
      })
      // the parts with the most words, and at least half of them
      .filter(({ found }) => found > words.length / 2)
      .sort((one, other) => other.found - one.found || other.score - one.score)
      .filter(({ found }, _, [first]) => found === first.found)
      .slice(0, MOST);
  }

  function createElement(name, attributes, ...content) {
    const element = Object.assign(document.createElement(name), attributes);
    element.append(...content);
    return element;
  }

  function excerpt(text, start) {
    const words = new RegExp(`(${start}(?:${stems.join("|")})[\\p{L}\\p{N}]*)`, "iu");
    const from = text.lastIndexOf(" ", text.search(words) - BEFORE) + 1;
    const to = text.length > from + LENGTH ? text.lastIndexOf(" ", from + LENGTH) : text.length;
    const excerptText = (from ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
    // split puts the matches at odd indices
    return excerptText.split(words).map((piece, i) => (i % 2 ? createElement("mark", {}, piece) : piece));
  }

  const WORD_START = "(?<![\\p{L}\\p{N}])";
  // where no word begins with a stem, match it inside words
  const start = search(WORD_START).length ? WORD_START : "";
  const parts = search(start);
  const items = parts.map(({ page, anchor, title, text }) =>
    createElement(
      "li",
      {},
      createElement("a", { href: `${page}.html${anchor && "#"}${anchor}` }, title),
      createElement("p", { className: "context" }, ...excerpt(text, start))
    )
  );
  const COUNT_MESSAGES = { 0: "Nothing was found.", 1: "Found in one place.", [MOST]: "Found first:" };
  const status =
    parts[0]?.found < stems.length
      ? "No section has all these words. Most of them are in:"
      : (COUNT_MESSAGES[items.length] ?? `Found in ${items.length} places.`);
  output.append(createElement("p", { role: "status" }, status), createElement("ul", {}, ...items));
}
