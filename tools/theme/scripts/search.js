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

  const stemOf = (word) => SYNONYMS[word] ?? word.replace(/(?<=.{4})(ing|ed|es|e|s)$|(?<=^...)s$/, "");

  function wordsOf(text) {
    const all = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    const content = all.filter((word) => !FUNCTION_WORD.test(word));
    return content.length ? content : all;
  }

  // the stems of a text, under which head finds heads, and scaled scaling
  const stemsOf = (text) => wordsOf(text).map(stemOf);
  const stems = stemsOf(query);
  if (!stems.length) return;

  const count = (text, word) => [...text.matchAll(word)].length;

  // the relevance of a part to the words
  function score({ page, names, text }) {
    const whole = names.some((name) => stemsOf(name).join() === stems.join());
    const kind = page.endsWith("glossary") ? 6 : ({ chapters: 5, deeper: 4 }[page.split("/")[0]] ?? 1);
    const points = words.map(
      (word) => 10 * Math.min(count(names.join(), word), 1) + Math.min(count(text, word), 5)
    );
    return points.reduce((sum, point) => sum + point, 100 * whole + kind);
  }

  const allParts = Object.entries(pages).flatMap(([page, parts]) => {
    const [[, [top]]] = parts;
    return parts.map(([anchor, names, text]) => {
      const title = anchor ? `${top} › ${names.join(", ")}` : top;
      return { page, anchor, names, text, title };
    });
  });

  const occurs = (word) => allParts.some(({ title, text }) => count(title + text, word));
  // a pattern for the words that begin with a stem, or have it inside; none where no page has one
  const patternOf = (word) =>
    ["(?<![\\p{L}\\p{N}])", ""]
      .map((start) => new RegExp(start + stemOf(word), "giu"))
      .find(occurs);
  const patterns = wordsOf(query).map((word) => [word, patternOf(word)]);
  const missing = patterns.filter(([, pattern]) => !pattern).map(([word]) => `“${word}”`);
  const words = patterns.map(([, pattern]) => pattern).filter(Boolean);

  // the parts with all words, or else those with at least half of them, the most first
  function search() {
    return allParts
      .map((part) => {
        const found = words.filter((word) => count(part.title + part.text, word)).length;
        return { ...part, found, score: score(part) };
      })
      .filter(({ found }) => found && found >= words.length / 2)
      .sort((one, other) => other.found - one.found || other.score - one.score)
      .filter(({ found }, _, [first]) => first.found < words.length || found === words.length)
      .slice(0, MOST);
  }

  function createElement(name, attributes, ...content) {
    const element = Object.assign(document.createElement(name), attributes);
    element.append(...content);
    return element;
  }

  function excerpt(text) {
    const found = new RegExp(`((?:${words.map(({ source }) => source).join("|")})[\\p{L}\\p{N}]*)`, "iu");
    const from = text.lastIndexOf(" ", text.search(found) - BEFORE) + 1;
    const to = text.length > from + LENGTH ? text.lastIndexOf(" ", from + LENGTH) : text.length;
    const excerptText = (from ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
    // split puts the matches at odd indices
    return excerptText.split(found).map((piece, i) => (i % 2 ? createElement("mark", {}, piece) : piece));
  }

  const parts = search();
  const items = parts.map(({ page, anchor, title, text }) =>
    createElement(
      "li",
      {},
      createElement("a", { href: `${page}.html${anchor && "#"}${anchor}` }, title),
      createElement("p", { className: "context" }, ...excerpt(text))
    )
  );
  const COUNT_MESSAGES = { 0: "Nothing found.", 1: "Found in one place.", [MOST]: `The ${MOST} best matches:` };
  const missingMessage = items.length && missing.length ? `No page has ${missing.join(" or ")}. ` : "";
  const status =
    parts[0]?.found < words.length
      ? `No section has all ${missing.length ? "the other" : "these"} words. The closest are:`
      : (COUNT_MESSAGES[items.length] ?? `Found in ${items.length} places.`);
  output.append(createElement("p", { role: "status" }, missingMessage + status), createElement("ul", {}, ...items));
}
