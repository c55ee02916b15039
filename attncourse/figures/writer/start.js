// handlers of the figure: they change the text, and load the weights on first use
(form, show, { formatNumber, arcs, address, guess, late }) => {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const { text, pointed, writing, whole, decade, beside, more } = form.elements;
  const [strip, fold] = [".strip", ".more"].map((name) => form.querySelector(name));
  let current = {};
  let [finishing, measuring, playing, drawing, sending, awaited] = [];
  const game = guess.play(form, formatNumber, () => current);

  const update = () => {
    current = show();
    cancelAnimationFrame(drawing);
    drawing = requestAnimationFrame(() => {
      if (current.arcs) arcs(strip, current.arcs());
      if (writing.value >= 0) text.scrollTop = text.scrollHeight;
    });
  };
  // the effect of each word is measured in slices of 12 ms
  const measure = () => {
    clearTimeout(measuring);
    const { measured } = current.found?.() ?? {};
    if (!measured) return;
    let updatedAt = performance.now();
    const slice = () => {
      const began = performance.now();
      let more = true;
      while (more && performance.now() < began + 12) more = current.now().measure(measured);
      if (!more || performance.now() > updatedAt + 300) {
        update();
        updatedAt = performance.now();
      }
      if (more) measuring = setTimeout(slice);
    };
    measuring = setTimeout(slice, 200);
  };
  // first the bars, then the ends of their words, then the effect of each word
  const refresh = () => {
    clearTimeout(finishing);
    whole.value = 0;
    update();
    finishing = setTimeout(() => {
      whole.value = 1;
      update();
      measure();
      game.ready();
    });
  };
  // not in a notebook, which has no address to share; delayed, because browsers limit replaceState
  const sent = !form.querySelector("[data-late]").textContent;
  const send = () => {
    clearTimeout(sending);
    if (sent) sending = setTimeout(() => history.replaceState(null, "", address.written(form, current.now?.())), 400);
  };
  if (!sent) form.querySelector(".sent").remove();

  // words stay covered up to the first one that changed
  const uncover = () => {
    const [now, { items: before, covered } = {}] = [current.now?.(), current.found?.()];
    if (!now || !covered?.length) return;
    const items = now.items(now.tokensOf(text.value)).map((item) => item.text);
    const apart = before.findIndex((item, i) => item !== items[i]);
    form.querySelectorAll("[name^='cover ']").forEach((box, i) => {
      if (apart >= 0 && i >= apart) box.checked = false;
    });
  };
  const changed = () => {
    uncover();
    pointed.value = -1;
  };
  const append = (tokens) => {
    const now = current.now();
    const all = [...now.tokensOf(text.value), ...tokens];
    text.value = now.join(all.slice(0, now.most));
    changed();
    return all.length >= now.most;
  };

  const stop = () => {
    clearTimeout(playing);
    if (writing.value < 0) return;
    form.querySelector(`[data-do=write][data-side="${writing.value}"]`).textContent = "write on";
    writing.value = -1;
    form.removeAttribute("aria-busy");
  };
  // append a sampled token; true when the context is full
  const drawn = (side) => {
    const [now, { hidden, off }] = [current.now(), current.found()];
    const of = { decade: Number([decade, beside][side].value), tokens: now.tokensOf(text.value), hidden, off };
    const { token, passed } = now.draw(now.runOf(of), Math.random);
    current.passed(passed);
    return append([token]);
  };
  // milliseconds per token; on a slow page, the display is updated after several tokens
  const PACE = 25;
  const write = (side, began = performance.now(), count = 0) => {
    const until = performance.now() + 2 * PACE;
    let [done, end] = [count, false];
    do {
      end = drawn(side) || (still && /[.?!]$/.test(text.value));
      done++;
    } while (!end && performance.now() < until && (still || (performance.now() - began) / PACE > done));
    update();
    if (end) {
      stop();
      refresh();
      send();
    } else playing = setTimeout(write, still ? 0 : Math.max(0, began + PACE * done - performance.now()), side, began, done);
  };
  const acts = {
    take: ({ take }) => append(current.taken()[Math.floor(take / 6)][take % 6].tokens),
    draw: ({ side }) => drawn(Number(side)),
    write: ({ side }, button) => {
      writing.value = side;
      form.elements.side.value = side;
      button.textContent = "stop";
      form.setAttribute("aria-busy", true);
      update();
      write(Number(side));
    },
    onward: () => {
      const now = current.now();
      text.value = now.join(now.tokensOf(text.value).slice(-64));
      for (const box of form.querySelectorAll("[name^='cover ']")) box.checked = false;
      changed();
    },
    try: ({ try: said }) => {
      text.value = said;
      changed();
    },
  };

  form.addEventListener("input", ({ target }) => {
    stop();
    clearTimeout(measuring);
    whole.value = 0;
    if (target === text) changed();
    current.passed?.(null);
  }, true);
  form.addEventListener("input", ({ target }) => {
    refresh();
    if (!target.closest(".guess")) send();
  });
  form.addEventListener("click", ({ target }) => {
    const act = acts[target.dataset?.do];
    if (!act) return;
    const wrote = writing.value;
    stop();
    // without a prediction, only another text can be set
    const bare = target.dataset.do === "try" || (target.dataset.do === "onward" && current.now?.());
    if (bare || (current.now?.() && current.found)) {
      current.passed?.(null);
      if (!(target.dataset.do === "write" && wrote === target.dataset.side)) act(target.dataset, target);
    } else awaited = target;
    refresh();
    send();
  });
  const point = ({ target }) => {
    const item = target.closest?.(".item");
    const at = item ? [...item.parentElement.children].indexOf(item) : -1;
    if (Number(pointed.value) === at || writing.value >= 0) return;
    pointed.value = at;
    update();
  };
  for (const event of ["pointerover", "focusin"]) form.addEventListener(event, point);
  fold.addEventListener("toggle", () => {
    more.value = Number(fold.open);
    refresh();
    if (address.read(location.hash)) send();
  });
  new ResizeObserver(() => current.arcs && arcs(strip, current.arcs())).observe(form);

  // restore the state in the address of the page, once the model is loaded
  const restore = () => {
    const state = address.read(location.hash);
    if (!state) return;
    const now = current.now();
    const known = state.pieces.filter((token) => token < now.tokenizer.count);
    text.value = known.length ? now.join(known) : state.text;
    // an older address may name a decade that the model has not learned
    [decade, beside].forEach((list, i) => {
      if ([...list.options].some(({ value }) => Number(value) === state.decades[i])) list.value = state.decades[i];
    });
    update();
    const set = (name, list, want) => form.querySelectorAll(`[name^="${name} "]`).forEach((box, i) => {
      box.checked = list.includes(i) === want;
    });
    set("cover", state.covered, true);
    set("on", state.off, false);
    form.elements.head.value = state.head;
    form.elements.side.value = state.side;
    fold.open = state.more !== "0";
    more.value = Number(fold.open);
  };
  const loaded = () => {
    update();
    restore();
    refresh();
    // what was pressed before there was a prediction
    awaited?.click();
    awaited = undefined;
  };
  const touched = late(form, "attncourseEnglish", show, loaded);
  addEventListener("hashchange", () => current.now?.() ? loaded() : touched());
  refresh();
  if (address.read(location.hash)) touched();
}
