// The code of an exercise becomes a text that can be changed; what else an answer needs is loaded
// when one is touched, or has been kept from an earlier visit.
(() => {
  const boxes = [...document.querySelectorAll("[data-answer]")];
  let kept, loading;
  try {
    kept = ["attncourse-answers", "attncourse-answers-set-aside"].map((key) => localStorage.getItem(key)).join();
  } catch {
    // a browser may refuse to keep anything
  }

  function load() {
    return (loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const base = document.querySelector('script[src*="site.js"]').src.replace(/site\.js.*$/, "");
      script.src = base + boxes[0].dataset.script;
      script.onload = () => resolve(globalThis.attncourseEditors);
      script.onerror = reject;
      document.head.append(script);
    }));
  }

  for (const box of boxes) {
    const pre = box.querySelector("pre");
    const field = document.createElement("textarea");
    field.defaultValue = pre.textContent.replace(/\n$/, "");
    Object.assign(field, { spellcheck: false, wrap: "off" });
    for (const name of ["autocapitalize", "autocomplete", "autocorrect"]) field.setAttribute(name, "off");
    field.ariaLabel = `Your answer to ${box.dataset.answer}`;
    pre.ariaHidden = "true";
    const lines = field.value.split("\n").map((_, place) => place + 1);
    pre.insertAdjacentHTML("beforebegin", `<div data-lines aria-hidden="true">${lines.join("\n")}</div>`);
    pre.after(field);
  }
  const isWithin = (target) => target.closest?.("[data-answer], [data-answers]");
  for (const kind of ["pointerdown", "focusin"])
    document.addEventListener(kind, ({ target }) => isWithin(target) && load());
  document.addEventListener("click", ({ target }) => {
    // figures have buttons of their own
    const button = isWithin(target) && target.closest("[data-do]");
    if (button) load().then((editors) => editors.press(button));
  });
  if (boxes.some((box) => kept?.includes(JSON.stringify(box.dataset.kept)))) load();
})();
