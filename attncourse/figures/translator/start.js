// reveals the name part by part after typing; loads the weights on first use
(form, show, { late }) => {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let playing;
  let asked = false;
  const stop = () => {
    clearTimeout(playing);
    form.removeAttribute("aria-busy");
  };
  const write = (at = 0) => {
    stop();
    asked = true;
    const { part } = form.elements;
    part[at].checked = true;
    if (!show().parts) return;
    const last = part.length - 1;
    if (at === last) return;
    form.setAttribute("aria-busy", true);
    playing = setTimeout(write, still ? 0 : 300, still ? last : at + 1);
  };

  form.addEventListener("submit", () => write());
  form.addEventListener("input", ({ target }) => {
    stop();
    if (target.type === "text") playing = setTimeout(write, 400);
  });
  form.addEventListener("pointerover", ({ target }) => {
    if (target.closest("[data-at]")) stop();
  });

  late(form, "attncourseNumbers", show, () => (asked ? write() : show()));
}
