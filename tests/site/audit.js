// What is too wide for a page, out of reach, or too narrow to be read: [rule, where, what to do].
() => {
  const root = document.documentElement;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const overflow = (one) => getComputedStyle(one).overflowX;

  // the way to an element, from the nearest with an id
  function where(one) {
    if (one.id) return `#${one.id}`;
    const name = [one.localName, ...one.classList].join(".");
    return one.parentElement ? `${where(one.parentElement)} > ${name}` : name;
  }

  const scrolls = (one) =>
    one !== document.body && (overflow(one) !== "visible" || scrolls(one.parentElement));
  const sticksOut = (one) =>
    one.getBoundingClientRect().right > root.clientWidth + 1 && !scrolls(one.parentElement);
  const tooWide = root.scrollWidth > root.clientWidth;
  const widest = tooWide ? [all("body *").findLast(sticksOut) ?? root] : [];
  const squeezed = all("td, th").filter(
    (one) => one.innerText.trim().length > 40 && one.clientHeight > 6 * one.clientWidth
  );
  // axe looks for these in Safari alone; a script gives them the tabindex
  const focused = "a[href], button, input, summary, [tabindex='0']";
  const outOfReach = all("body *").filter(
    (one) =>
      matchMedia("(scripting)").matches &&
      one.scrollWidth > one.clientWidth + 1 &&
      ["auto", "scroll"].includes(overflow(one)) &&
      !one.matches(focused) &&
      !one.querySelector(focused)
  );
  const holder = (one) =>
    one === root || overflow(one) !== "visible" ? one : holder(one.parentElement);
  // what is one pixel wide is read aloud and not seen
  const cut = all("article :not(svg *)").filter((one) => {
    const box = holder(one.parentElement);
    return (
      one.checkVisibility() &&
      ["hidden", "clip"].includes(overflow(box)) &&
      box.clientWidth > 1 &&
      one.getBoundingClientRect().right > box.getBoundingClientRect().right + 1
    );
  });
  const advice = `let it wrap or scroll by itself: the page is ${root.scrollWidth} px wide`;
  const named = (rule, found, advice) => found.map((one) => [rule, where(one), advice]);
  return [
    ...named("page-scrolls-sideways", widest, advice),
    ...named("cut-off", cut, "let it wrap or scroll: the box around it hides what is outside"),
    ...named("cell-squeezed", squeezed, "give its column room: a word a line is no text"),
    ...named("scrolls-out-of-reach", outOfReach, "give it a tabindex: keys scroll what has focus"),
  ];
};
