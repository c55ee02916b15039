// What the learner has read and solved. It is kept in this browser and sent nowhere.
(() => {
  const KEY = "attncourse-progress";
  // what there is where the browser keeps nothing: it lasts as long as the page
  let memory = { read: [], solved: [], listed: {} };
  let lasting = true;

  const all = (selector) => [...document.querySelectorAll(selector)];
  const namesOf = (element) => element.dataset.exercises.split(" ").filter(Boolean);
  const count = (names, state) => names.filter((name) => state.solved.includes(name)).length;

  const listOf = (kept) => (Array.isArray(kept) ? kept : []);

  function load() {
    try {
      const { read, solved, listed } = JSON.parse(localStorage.getItem(KEY)) ?? {};
      return { read: listOf(read), solved: listOf(solved), listed: { ...listed } };
    } catch {
      return memory;
    }
  }

  function save(state) {
    memory = state;
    try {
      localStorage.setItem(KEY, JSON.stringify(state));
      lasting = !localStorage.forgets;
    } catch {
      lasting = false;
    }
    show();
  }

  function say(words) {
    const brief = lasting ? "" : " Your browser keeps nothing, so this lasts until you leave the page.";
    for (const place of all("[data-said]")) place.textContent = words + brief;
  }

  function toggle(list, name) {
    const state = load();
    const had = state[list].includes(name);
    const others = state[list].filter((one) => one !== name);
    save({ ...state, [list]: had ? others : [...others, name] });
    say(had ? "Taken back." : "Noted.");
  }

  // a long line may have been wrapped, so lines of nothing but names go on with it
  function namesIn(text) {
    const lines = [...text.matchAll(/^[ \t]*solved:(.*(?:\n[\w\- ,]+$)*)/gim)];
    return lines.length ? lines.flatMap(([, list]) => list.split(/[\s,]+/).filter(Boolean)) : null;
  }

  function takeOver(field) {
    const state = load();
    const names = namesIn(field.value.replaceAll("\r", ""));
    const known = new Map(Object.values(state.listed).flat().map((name) => [name.toLowerCase(), name]));
    const isKnown = (name) => known.has(name.toLowerCase());
    const good = [...new Set(names?.filter(isKnown).map((name) => known.get(name.toLowerCase())))];
    const strange = names?.filter((name) => !isKnown(name)).join(", ");
    const unknown = strange ? ` No exercise here is called ${strange}.` : "";
    if (!good.length) {
      const empty = names ? "No name stands after “solved:”." : "No line begins with “solved:”.";
      say(
        `${unknown.trim() || empty} Nothing has changed. ` +
          "Paste the last line that status() prints once an exercise is solved.",
      );
      return;
    }
    save({ ...state, solved: [...new Set([...state.solved, ...good])] });
    field.value = "";
    say(`Taken over: ${good.join(", ")}.${unknown}`);
  }

  function reset() {
    if (!confirm("Forget which chapters you have read and which exercises you have solved?")) return;
    save({ ...load(), read: [], solved: [] });
    say("Your progress is forgotten.");
  }

  function tick(link, sign, words) {
    link.querySelector(".tick")?.remove();
    if (!sign) return;
    const mark = document.createElement("span");
    const spoken = document.createElement("span");
    mark.className = "tick";
    spoken.className = "tick-words";
    spoken.textContent = ` ${words}`;
    mark.append(` ${sign}`, spoken);
    link.append(mark);
  }

  function tickSideBar(state) {
    for (const link of all(".bd-sidebar-primary a[href]")) {
      const [, folder, slug] = link.pathname.match(/(chapters|exercises)\/(\w+)\.html$/) ?? [];
      const names = listOf(state.listed[slug]);
      const solved = count(names, state);
      if (folder === "chapters") {
        tick(link, state.read.includes(slug) && "✓", "read");
      } else if (folder === "exercises") {
        const part = solved && `${solved}/${names.length}`;
        tick(link, solved && solved === names.length ? "✓" : part, "solved");
      }
    }
  }

  function show() {
    const state = load();
    for (const list of ["read", "solved"]) {
      for (const button of all(`[data-${list}]`)) {
        button.ariaPressed = String(state[list].includes(button.dataset[list]));
      }
    }
    const lists = all("[data-exercises]");
    for (const element of lists) {
      const names = namesOf(element);
      element.textContent = `${count(names, state)} of ${names.length} exercises solved`;
    }
    for (const element of all("[data-total]")) {
      const names = lists.flatMap(namesOf);
      const read = lists.filter((one) => state.read.includes(one.dataset.chapter)).length;
      element.textContent =
        `Solved: ${count(names, state)} of ${names.length} exercises. ` +
        `Read: ${read} of ${lists.length} chapters.`;
    }
    tickSideBar(state);
  }

  function remember() {
    const state = load();
    for (const one of all("[data-exercises]")) state.listed[one.dataset.chapter] = namesOf(one);
    save(state);
  }

  for (const list of ["read", "solved"]) {
    for (const button of all(`[data-${list}]`)) {
      button.addEventListener("click", () => toggle(list, button.dataset[list]));
    }
  }
  for (const form of all("[data-paste]")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      takeOver(form.querySelector("textarea"));
    });
  }
  for (const button of all("[data-reset]")) button.addEventListener("click", reset);
  // another tab has changed it
  addEventListener("storage", show);
  remember();
})();
