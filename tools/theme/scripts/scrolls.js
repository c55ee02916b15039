// Makes boxes that scroll sideways focusable, so that keys scroll them; those that fit are not.
(() => {
  const BOXES = ".formula, .drawn[role]";
  // a formula that is a little too wide is shrunk instead, down to this scale
  const SMALLEST = 0.85;
  const shrinkToFit = (box) => {
    box.style.removeProperty("--fit");
    // limits below a sum shrink less than the rest, so a second try may be needed
    for (let size = 1, tries = 3; tries && box.scrollWidth > box.clientWidth; tries--) {
      size *= box.clientWidth / box.scrollWidth - 0.01;
      if (size < SMALLEST) return box.style.removeProperty("--fit");
      box.style.setProperty("--fit", size);
    }
  };
  const observer = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      // the box may have left the page
      const box = target.closest(BOXES);
      if (box?.matches(".formula")) shrinkToFit(box);
      if (box?.scrollWidth > box?.clientWidth) box.tabIndex = 0;
      else box?.removeAttribute("tabindex");
    }
  });
  for (const box of document.querySelectorAll(BOXES))
    for (const part of [box, box.firstElementChild]) observer.observe(part);
})();
