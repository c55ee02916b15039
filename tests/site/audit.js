// What is too wide for a page, out of reach, or too narrow to be read: [rule, where, what to do].
() => {
  const all = (selector) => [...document.querySelectorAll(selector)];

  function where(element) {
    const steps = [];
    for (let one = element; one && one !== document.body && steps.length < 3; one = one.parentElement) {
      const name = one.id ? `#${one.id}` : [one.localName, ...one.classList].join(".");
      steps.unshift(name);
      if (one.id) break;
    }
    return steps.join(" > ");
  }

  function tooWide(root) {
    if (root.scrollWidth <= root.clientWidth) return [];
    const scrolls = (one) =>
      one !== document.body &&
      one !== null &&
      (getComputedStyle(one).overflowX !== "visible" || scrolls(one.parentElement));
    const wide = all("body *").filter(
      (one) => one.getBoundingClientRect().right > root.clientWidth + 1 && !scrolls(one.parentElement)
    );
    const inner = wide.filter((one) => !wide.some((other) => other !== one && one.contains(other)));
    const advice = `let it wrap or scroll by itself: the page is ${root.scrollWidth} px wide`;
    const places = inner.length ? inner.slice(0, 3).map(where) : ["html"];
    return places.map((place) => ["page-scrolls-sideways", place, advice]);
  }

  const squeezed = all("td, th").filter(
    (one) => one.innerText.trim().length > 40 && one.clientHeight > 6 * one.clientWidth
  );
  // axe looks for these in Safari alone
  const focused = "a[href], button, input, summary, [tabindex='0']";
  const outOfReach = all("body *").filter(
    (one) =>
      one.scrollWidth > one.clientWidth + 1 &&
      ["auto", "scroll"].includes(getComputedStyle(one).overflowX) &&
      !one.matches(focused) &&
      !one.querySelector(focused)
  );
  const named = (rule, found, advice) => found.map((one) => [rule, where(one), advice]);
  return [
    ...tooWide(document.documentElement),
    ...named("cell-squeezed", squeezed, "give its column room: a word a line is no text"),
    // a script gives it the tabindex
    ...(matchMedia("(scripting)").matches
      ? named("scrolls-out-of-reach", outOfReach, "give it a tabindex: keys scroll what has focus")
      : []),
  ];
};
