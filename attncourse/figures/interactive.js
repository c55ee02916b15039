(name, data, view, uses) => {
  const formatNumber = (x) => {
    if (!Number.isFinite(x)) return x < 0 ? "−∞" : x > 0 ? "∞" : "NaN";
    // an exact tie goes to the even digit, as in Python: toFixed would make 0.125 into 0.13
    const digits = Math.abs((x * 8) % 4) === 1 ? x.toFixed(3).slice(0, -1) : x.toFixed(2);
    return digits.replace("-0.00", "0.00").replace("-", "−");
  };

  // the largest number, and the names of all that look as large
  const most = (numbers, names) => {
    const top = formatNumber(Math.max(...numbers));
    const largest = names.filter((_, i) => formatNumber(numbers[i]) === top);
    if (largest.length <= 5) return [top, new Intl.ListFormat("en-GB").format(largest)];
    return [top, largest.length < names.length ? `${largest.length} of ${names.length}` : `all ${names.length} alike`];
  };

  // the inverse of to_json in numbers.py: numbers of fewer bits are sent with fewer digits
  const roundToBits = (x, bits) => {
    if (Array.isArray(x)) return x.map((y) => roundToBits(y, bits));
    if (x?.bits) return roundToBits(x.numbers, x.bits);
    if (x && typeof x === "object")
      return Object.fromEntries(Object.entries(x).map(([name, y]) => [name, roundToBits(y)]));
    if (!bits || !Number.isFinite(x)) return x;
    const wide = x * (2 ** (53 - bits) + 1);
    return wide - (wide - x);
  };
  const decoded = roundToBits(data);

  const fill = (slot, content) => {
    if (typeof content === "string") content = { text: content };
    if (typeof content === "number") content = { text: formatNumber(content), value: content };
    for (const [name, x] of Object.entries(content)) {
      // unchanged values are skipped, so that nothing is repainted or announced again
      if (name === "count") uses.resize(slot, x);
      else if (name === "text" && slot.textContent !== x) slot.textContent = x;
      else if (name !== "text" && slot.getAttribute(name) !== `${x}`) slot.setAttribute(name, x);
      if (name === "value") slot.style.setProperty("--share", x);
    }
  };

  const stateOf = (form) => {
    const state = {};
    for (const control of form.elements) {
      const { name, type } = control;
      let { value } = control;
      if (type === "radio" && !control.checked) continue;
      if (type === "range") {
        const shown = control.dataset.values.split(" ")[value];
        value = shown.replaceAll(",", "");
        control.setAttribute("aria-valuetext", shown);
        control.nextElementSibling.textContent = shown;
      }
      state[name] = type === "checkbox" ? control.checked : /^text/.test(type) ? value : Number(value);
    }
    return state;
  };

  const follow = (form) => {
    const show = () => {
      const { disabled = {}, ...now } = view(decoded, stateOf(form), { formatNumber, most, ...uses });
      for (const [name, isDisabled] of Object.entries(disabled)) form.elements[name].disabled = isDisabled;
      for (const [slot, contents] of Object.entries(now)) {
        const slots = form.querySelectorAll(`[data-show="${slot}"]`);
        [contents].flat(2).forEach((content, i) => fill(slots[i], content));
      }
      return now;
    };
    form.addEventListener("input", show);
    form.addEventListener("click", ({ target }) => {
      if (target.type !== "button") return;
      target.value++;
      show();
    });
    // JupyterLab would move the focus away from a control on its shortcuts
    form.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("pointerover", ({ target }) => {
      const { name, at } = target.closest("[data-at]")?.dataset ?? {};
      const option = name && form.elements[name][at];
      if (!option || option.checked) return;
      option.checked = true;
      show();
    });
    form.parentElement.setAttribute("aria-label", form.querySelector("p").textContent);
    for (const part of form.querySelectorAll("[hidden]")) part.hidden = false;
    // a scrolling element must be focusable by keyboard
    const scroll = form.querySelector(".scroll");
    new ResizeObserver(() => {
      scroll.tabIndex = scroll.scrollWidth > scroll.clientWidth ? 0 : -1;
    }).observe(scroll);
    show();
    uses.start?.(form, show, { formatNumber, ...uses });
  };

  // a notebook may show several copies of a figure, and run the script of each
  for (const figure of document.querySelectorAll(`[data-figure="${name}"]`)) {
    if (figure.following) continue;
    figure.following = true;
    follow(figure.querySelector("form"));
  }
}
