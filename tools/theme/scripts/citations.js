// shows the entry of a citation below it, on hover and focus; Escape hides it
{
  const box = document.createElement("span");
  Object.assign(box, { className: "cited-entry rounded p-2 small", popover: "manual", id: "cited-entry", role: "tooltip" });

  function show({ currentTarget: link }) {
    box.textContent = link.dataset.entry;
    // inside the link, so that the mouse can move onto it
    link.append(box);
    link.setAttribute("aria-describedby", box.id);
    box.showPopover();
    const { left, top, bottom } = [...link.getClientRects()].at(-1);
    const fits = bottom + box.offsetHeight < innerHeight;
    box.style.left = `${Math.max(8, Math.min(left, innerWidth - box.offsetWidth - 24))}px`;
    box.style.top = `${fits ? bottom : top - box.offsetHeight}px`;
  }

  function hide() {
    box.parentElement?.removeAttribute("aria-describedby");
    box.remove();
  }

  for (const link of document.querySelectorAll("article a[title][href*='bibliography.html#']")) {
    link.dataset.entry = link.title;
    link.removeAttribute("title");
    for (const kind of ["mouseenter", "focus"]) link.addEventListener(kind, show);
    for (const kind of ["mouseleave", "blur"]) link.addEventListener(kind, hide);
  }
  addEventListener("keydown", ({ key }) => key === "Escape" && hide());
}
