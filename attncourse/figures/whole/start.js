// touch and keys on the picture's parts; the weights are loaded on first use
(form, show, { late }) => {
  const { part, at, text, block, head } = form.elements;
  const sheet = form.querySelector(".sheet");
  const links = () => [...sheet.querySelectorAll("a")].filter((one) => !one.closest(".none"));
  const middle = (one) => {
    const { left, width, top, height } = one.querySelector("rect").getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  };
  // one part has the place in the order of the tab key; the arrow keys lead from it to the others
  const rove = (link) => {
    for (const one of sheet.querySelectorAll("a")) one.setAttribute("tabindex", one === link ? 0 : -1);
  };
  const select = (link) => {
    const chosen = { ...link.closest("[data-block]")?.dataset, ...link.dataset };
    if (chosen.part) part.value = chosen.part;
    if (chosen.at) at.value = chosen.at;
    if (chosen.block) block.value = chosen.block;
    if (chosen.head) head.value = chosen.head;
    show();
  };
  sheet.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    event.preventDefault();
    select(link);
    // a block that has been opened is the row of its name from now on
    const shown = link.closest(".none") ? sheet.querySelector("a:has([data-show=opened])") : link;
    rove(shown);
    shown.focus();
  });
  const rows = () => [...Map.groupBy(links(), (one) => Math.round(middle(one)[1])).entries()].sort(([a], [b]) => a - b).map(([, row]) => row);
  sheet.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const link = event.target.closest("a");
    if (!steps || !link) return;
    event.preventDefault();
    const all = rows();
    const y = all.findIndex((row) => row.includes(link));
    const x = all[y].indexOf(link);
    const [down, right] = steps;
    const row = all[Math.min(Math.max(y + down, 0), all.length - 1)];
    const next = right ? row[Math.min(Math.max(x + right, 0), row.length - 1)] : row[0];
    if (down && row === all[y]) return;
    rove(next);
    next.focus();
  });
  text.addEventListener("input", () => {
    at.value = -1;
  }, true);

  late(form, "attncourseEnglish", show);
  rove(links()[0]);

  // the small picture of a chapter leads to a part of its own
  const arrive = () => {
    const link = links().find((one) => one.dataset.part && one.getAttribute("href") === location.hash);
    if (!link) return;
    part.value = link.dataset.part;
    show();
  };
  addEventListener("hashchange", arrive);
  arrive();

  const poster = form.querySelector("[name=poster]");
  poster.addEventListener("click", () => {
    const sheets = document.createElement("style");
    sheets.textContent = "@page { size: A3 landscape; margin: 9mm }";
    document.head.append(sheets);
    document.documentElement.classList.add("poster");
    addEventListener("afterprint", () => {
      sheets.remove();
      document.documentElement.classList.remove("poster");
    }, { once: true });
    print();
  });
}
