// Keys scroll what has focus: what scrolls sideways can have it, and what fits is no stop on the way.
(() => {
  const BOXES = ".formula, .drawn[role]";
  // a formula that is hardly too wide is drawn smaller: the shade at its edge could not be seen
  const SMALLEST = 0.85;
  const fit = (box) => {
    box.style.removeProperty("--fit");
    // what stands below a sum shrinks less than the rest
    for (let size = 1, tries = 3; tries && box.scrollWidth > box.clientWidth; tries--) {
      size *= box.clientWidth / box.scrollWidth - 0.01;
      if (size < SMALLEST) return box.style.removeProperty("--fit");
      box.style.setProperty("--fit", size);
    }
  };
  const follow = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      // a page may be taken apart
      const box = target.closest(BOXES);
      if (box?.matches(".formula")) fit(box);
      if (box?.scrollWidth > box?.clientWidth) box.tabIndex = 0;
      else box?.removeAttribute("tabindex");
    }
  });
  for (const box of document.querySelectorAll(BOXES))
    for (const part of [box, box.firstElementChild]) follow.observe(part);
})();
