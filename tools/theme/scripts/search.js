// The search page: sections.js calls this with the parts of each page, as [anchor, names, prose].
function showFound(pages) {
  const MOST = 40;
  const BEFORE = 80;
  const LENGTH = 240;
  const query = new URLSearchParams(location.search).get("q")?? "";
  const field = document.querySelector("#search-results").parentElement.querySelector("[name=q]");
  field.value = query;

  // a word finds its other forms: heads and head, scaled and scaling
  const stemsOf = (text) =>
    (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) =>
      word.replace(/(?<=.{4})(ing|ed|es|e|s)$|(?<=^...)s$/, "")
    );
  const stems = stemsOf(query);
  if (!stems.length) return;
  const parts = Object.entries(pages).flatMap(([page, inner]) =>
    inner.map(([anchor, names, text]) => {
      const [title] = inner[0][1];
      return { page, anchor, names, text, title: anchor ? `${title} › ${names.join(", ")}` : title };
    })
  );

  // by how much a part is about the words; 0 where it lacks one
  function score({ page, names, text, title }, words) {
    const counts = words.map((word) => [names.join("; "), text, title].map((one) => [...one.matchAll(word)].length));
    if (counts.some((each) => each.every((count) => count === 0))) return 0;
    const about = ([named, told, above]) => 10 * Math.min(named, 1) + Math.min(told, 5) + Math.min(above, 1);
    const whole = names.some((name) => stemsOf(name).join() === stems.join());
    const place = page.endsWith("glossary") ? 6 : page.startsWith("chapters/") ? 5 : 0;
    return counts.map(about).reduce((sum, one) => sum + one, 100 * whole + place);
  }

  function search(start) {
    const words = stems.map((stem) => new RegExp(start + stem, "giu"));
    const scored = parts.map((part) => [score(part, words), part]).filter(([points]) => points);
    return scored.sort(([one], [other]) => other - one).map(([, part]) => part);
  }

  function excerpt(text) {
    const words = new RegExp(`(${stems.join("|")})`, "giu");
    const start = Math.max(0, text.search(words) - BEFORE);
    const from = start && text.indexOf(" ", start) + 1;
    const to = text.length > from + LENGTH ? text.lastIndexOf(" ", from + LENGTH) : text.length;
    const shown = (from ? "… " : "") + text.slice(from, to) + (to < text.length ? " …" : "");
    // what the words have found stands at the odd places
    return shown.split(words).map((piece, at) => (at % 2 ? made("mark", {}, piece) : piece));
  }

  function made(name, attributes, ...content) {
    const element = Object.assign(document.createElement(name), attributes);
    element.append(...content);
    return element;
  }

  const words = search("(?<![\\p{L}\\p{N}])");
  // a piece of a word, where no word begins with it
  const found = (words.length ? words : search("")).slice(0, MOST);
  const said = { 0: "Nothing was found.", 1: "One place was found.", [MOST]: `The first ${MOST} places:` };
  const results = found.map(({ page, anchor, title, text }) => {
    const href = `${page}.html${anchor && "#"}${anchor}`;
    return made("li", {}, made("a", { href }, title), made("p", { className: "context" }, ...excerpt(text)));
  });
  document
    .querySelector("#search-results")
    .append(made("p", { role: "status" }, said[found.length] ?? `${found.length} places were found.`), made("ul", {}, ...results));
}
