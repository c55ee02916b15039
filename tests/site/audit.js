// What is wrong with a page that axe does not look for, as [rule, where, what to do], and what
// other pages may need of it.
() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const tidy = (text) => (text ?? "").replace(/\s+/g, " ").trim();

  function where(element) {
    const steps = [];
    for (let one = element; one && one !== document.body && steps.length < 3; one = one.parentElement) {
      const name = one.id ? `#${one.id}` : [one.localName, ...one.classList].join(".");
      steps.unshift(name);
      if (one.id) break;
    }
    return steps.join(" > ");
  }

  function repeated(rule, elements, key, advice) {
    const seen = new Set();
    for (const one of elements) {
      if (seen.has(key(one))) faults.push([rule, where(one), advice(key(one))]);
      seen.add(key(one));
    }
  }

  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const scrolls = (one) =>
      one !== document.body &&
      one !== null &&
      (getComputedStyle(one).overflowX !== "visible" || scrolls(one.parentElement));
    const wide = all("body *").filter(
      (one) => one.getBoundingClientRect().right > root.clientWidth + 1 && !scrolls(one.parentElement)
    );
    const inner = wide.filter((one) => !wide.some((other) => other !== one && one.contains(other)));
    const advice = `let it wrap or scroll by itself: the page is ${root.scrollWidth} px wide`;
    for (const one of inner.slice(0, 3)) faults.push(["page-scrolls-sideways", where(one), advice]);
    if (!inner.length) faults.push(["page-scrolls-sideways", "html", advice]);
  }

  for (const one of all("td, th"))
    if (tidy(one.innerText).length > 40 && one.clientHeight > 6 * one.clientWidth)
      faults.push(["cell-squeezed", where(one), "give its column room: a word a line is no text"]);

  repeated("id-repeated", all("[id]"), (one) => one.id, (id) => `only one element can be #${id}`);

  const labelled = (one) =>
    ["alt", "aria-label", "aria-labelledby"].some((name) => tidy(one.getAttribute(name))) ||
    [...one.children].some((child) => child.localName === "title" && tidy(child.textContent));
  for (const one of all("article img, svg, [role=img]"))
    if (!labelled(one) && !one.closest("[aria-hidden=true], [role=presentation], [role=none], [role=img][aria-label]"))
      faults.push(["picture-without-name", where(one), "say in its alt text what it shows"]);

  const boxes = all("summary, button.toggle-button");
  const name = (one) => tidy(one.getAttribute("aria-label") || one.innerText);
  repeated("box-names-repeated", boxes, name, (text) => `say what this one hides: ${text}`);
  const says_little =
    /^((click to )?(show|hide|toggle)( hidden content| code cell \w+)?|hint|solution|answer|details|more|)( \d+)?$/i;
  for (const one of boxes)
    if (says_little.test(name(one)))
      faults.push(["box-name-says-little", where(one), `say what it hides: ${name(one)}`]);

  const headings = all("h1").filter((one) => one.checkVisibility()).length;
  if (headings !== 1) faults.push(["one-h1", "h1", `the page has ${headings}`]);
  if (!root.lang) faults.push(["no-language", "html", "say its language in lang="]);

  return {
    faults,
    title: tidy(document.title),
    ids: all("[id], a[name]").map((one) => one.id || one.name),
    links: all("[href], [src]").map((one) => [
      new URL(one.getAttribute("href") ?? one.getAttribute("src"), document.baseURI).href,
      where(one),
    ]),
    words: tidy(document.querySelector("article")?.innerText).split(" "),
  };
};
