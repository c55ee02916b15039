// Keys scroll what has focus: what scrolls sideways can have it, and what fits is no stop on the way.
(() => {
  const BOXES = ".formula, .drawn[role]";
  const follow = new ResizeObserver((changes) => {
    for (const { target } of changes) {
      // a page may be taken apart
      const box = target.closest(BOXES);
      if (box?.scrollWidth > box?.clientWidth) box.tabIndex = 0;
      else box?.removeAttribute("tabindex");
    }
  });
  for (const box of document.querySelectorAll(BOXES))
    for (const part of [box, box.firstElementChild]) follow.observe(part);
})();
