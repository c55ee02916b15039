// What is wrong with the drawings and the interactive figures of a page, once every box on it is
// open: [rule, where, what to do].
() => {
  const figures = [...document.querySelectorAll(".attncourse-figure")];
  const drawings = [...document.querySelectorAll(".drawn, .attncourse-figure .scroll")];
  const seen = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const name = (one) => one.closest("[id^=fig-]")?.id ?? one.closest("[id]")?.id ?? "";
  const where = (one, words) => `#${name(one)}${words ? `, “${words}”` : ""}`;

  // the boxes of each word that is drawn: more than one where it is broken
  function* words(root) {
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (texts.nextNode()) {
      const text = texts.currentNode;
      const parent = text.parentElement;
      if (!seen(parent) || parent.closest("title, desc, option, style, math")) continue;
      for (const { index, 0: word } of text.data.matchAll(/\S+/g)) {
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const boxes = [...range.getClientRects()].filter(({ width }) => width);
        const lines = [...Map.groupBy(boxes, ({ top }) => Math.round(top)).values()];
        if (boxes.length) yield { word, parent, lines: lines.length, box: range.getBoundingClientRect() };
      }
    }
  }

  // letters as large as a reader sees them are no smaller than the caption's, but for what is raised
  // or lowered beside others
  const caption = document.querySelector("figure > figcaption:not(.attncourse-figure *)");
  const least = caption ? parseFloat(getComputedStyle(caption).fontSize) - 0.05 : 0;
  const scale = (one) => {
    const at = one.closest("svg") && one.getScreenCTM();
    return at ? Math.hypot(at.a, at.b) : 1;
  };
  const small = [];
  const plots = [...document.querySelectorAll('figure div[role="img"]')];
  for (const one of [...document.querySelectorAll(".drawn"), ...figures, ...plots])
    for (const { word, parent } of words(one)) {
      if (parent.closest("sub, sup, tspan.small, noscript, pre")) continue;
      const size = parseFloat(getComputedStyle(parent).fontSize) * scale(parent);
      if (size < least) small.push([where(parent, word), `${size.toFixed(1)} px: enlarge it to the caption's ${least.toFixed(1)}`]);
    }

  const slanted = (one) => {
    const at = one.closest("svg") && one.getScreenCTM();
    return at && Math.abs(at.a * at.b) > 0.01;
  };
  // the four corners of a word's letters: the line of a text is higher than they are, and what is
  // raised stands beside its word
  const letters = ({ parent, box }) => {
    const turned = slanted(parent);
    const { x, y, width, height } = turned ? parent.getBBox() : box;
    const at = turned ? parent.getScreenCTM() : new DOMMatrix();
    return [[x + 1, y + 0.2 * height], [x + width - 1, y + 0.2 * height], [x + width - 1, y + 0.8 * height], [x + 1, y + 0.8 * height]]
      .map(([x, y]) => new DOMPoint(x, y).matrixTransform(at));
  };
  // whether all of the second box lies beyond a side of the first
  const apart = (corners, others) =>
    corners.some((from, i) => {
      const to = corners[(i + 1) % 4];
      return others.every(({ x, y }) => (to.x - from.x) * (y - from.y) <= (to.y - from.y) * (x - from.x));
    });

  const flat = [], broken = [], upon = [], reached = [];
  for (const one of drawings) {
    for (const part of one.querySelectorAll("svg")) {
      const { width, height } = part.getBoundingClientRect();
      if (seen(part) && (width < 5 || height < 5)) {
        flat.push([where(part), `it is ${Math.round(width)} x ${Math.round(height)}: give it a height`]);
      }
    }
    const found = [...words(one)];
    for (const { word, parent, lines } of found) {
      // a name with a hyphen may go on after it
      if (lines > 1 && lines > word.split(/[-‐–—/]/).length) {
        broken.push([where(parent, word), "give its box the room of its longest word"]);
      }
    }
    const corners = found.map(letters);
    found.forEach(({ word, parent }, i) => {
      found.forEach(({ word: other, parent: beside }, j) => {
        if (j <= i || (parent === beside && slanted(parent))) return;
        if (!apart(corners[i], corners[j]) && !apart(corners[j], corners[i])) {
          upon.push([where(parent, `${word}”, “${other}`), "one lies upon the other: move them apart"]);
        }
      });
    });
  }

  // a figure looks as it does where it stands alone
  const boxes = (figure) =>
    [...figure.querySelectorAll("*")].map((one) => {
      const { width, height } = one.getBoundingClientRect();
      const { color, backgroundColor, stroke, display } = getComputedStyle(one);
      return [width.toFixed(), height.toFixed(), color, backgroundColor, stroke, display].join();
    });
  const styles = figures.flatMap((one) => [...one.querySelectorAll("style")]);
  const together = figures.map(boxes);
  figures.forEach((figure, at) => {
    for (const style of styles) style.disabled = !figure.contains(style);
    const alone = boxes(figure);
    const other = alone.findIndex((look, part) => look !== together[at][part]);
    if (other >= 0) {
      const part = figure.querySelectorAll("*")[other];
      reached.push([where(part), `${part.localName} is another without the styles of other figures`]);
    }
  });
  for (const style of styles) style.disabled = false;

  const named = (rule, all) => all.map(([place, advice]) => [rule, place, advice]);
  return [
    ...named("drawing-flat", flat),
    ...named("word-broken", broken),
    ...named("words-overlap", upon),
    ...named("letters-small", small),
    ...named("style-of-another-figure", reached),
  ];
};
