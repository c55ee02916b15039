// loads a figure's weights, a script that sets a global, when the figure is first touched
(form, global, show, loaded = show) => {
  const EVENTS = ["focusin", "pointerdown", "click"];
  const load = () => {
    for (const event of EVENTS) form.removeEventListener(event, load);
    if (window[global]) return show();
    const { dataset, textContent } = form.querySelector("[data-late]");
    const script = document.createElement("script");
    script.addEventListener("load", loaded);
    script.addEventListener("error", () => {
      window[global] = null;
      show();
    });
    if (textContent) script.textContent = textContent;
    else script.src = dataset.late;
    document.head.append(script);
    if (textContent) loaded();
  };
  for (const event of EVENTS) form.addEventListener(event, load);
  return load;
}
