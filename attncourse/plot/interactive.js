(name, data, view) => {
  const shown = (x) => {
    if (!Number.isFinite(x)) return x < 0 ? "−∞" : "∞";
    return x.toFixed(2).replace("-0.00", "0.00").replace("-", "−");
  };

  const fill = (slot, content) => {
    if (typeof content === "string") slot.textContent = content;
    else {
      slot.textContent = shown(content);
      slot.value = content;
      slot.style.setProperty("--value", content);
    }
  };

  const stateOf = (form) => {
    const state = {};
    for (const control of form.elements) {
      if (control.type === "range") {
        const value = control.dataset.values.split(" ")[control.value];
        control.setAttribute("aria-valuetext", value);
        control.nextElementSibling.textContent = value;
        state[control.name] = Number(value);
      } else if (control.type === "checkbox") state[control.name] = control.checked;
      else if (control.checked) state[control.name] = Number(control.value);
    }
    return state;
  };

  const follow = (form) => {
    const show = () => {
      for (const [slot, contents] of Object.entries(view(data, stateOf(form), shown))) {
        const slots = form.querySelectorAll(`[data-show="${slot}"]`);
        [contents].flat(2).forEach((content, i) => fill(slots[i], content));
      }
    };
    form.addEventListener("input", show);
    // JupyterLab takes the focus away from a control whose keys it hears
    form.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("pointerover", (event) => {
      const option = event.target.closest("tr")?.querySelector("[type=radio]:not(:checked)");
      if (!option) return;
      option.checked = true;
      show();
    });
    for (const part of form.querySelectorAll("[hidden]")) part.hidden = false;
    // what scrolls must be within reach of the keyboard
    const scroll = form.querySelector(".scroll");
    new ResizeObserver(() => {
      scroll.tabIndex = scroll.scrollWidth > scroll.clientWidth ? 0 : -1;
    }).observe(scroll);
    show();
  };

  // a notebook may show several copies of a figure, and run the script of each
  for (const figure of document.querySelectorAll(`[data-figure="${name}"]`)) {
    if (figure.following) continue;
    figure.following = true;
    follow(figure.querySelector("form"));
  }
}
