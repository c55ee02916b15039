// reveals the name part by part after typing; loads the weights on first use
(form, show) => {
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

  const load = () => {
    if (window.attncourseNumbers) return;
    const { dataset, textContent } = form.querySelector("[data-late]");
    const script = document.createElement("script");
    const onLoad = () => (asked ? write() : show());
    script.addEventListener("load", onLoad);
    script.addEventListener("error", () => {
      window.attncourseNumbers = null;
      show();
    });
    if (textContent) script.textContent = textContent;
    else script.src = dataset.late;
    document.head.append(script);
    if (textContent) onLoad();
  };
  const touched = () => {
    for (const event of ["focusin", "pointerdown", "click"]) form.removeEventListener(event, touched);
    load();
  };
  for (const event of ["focusin", "pointerdown", "click"]) form.addEventListener(event, touched);
}
