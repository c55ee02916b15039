// The chapters read and exercises solved; they stay in the local storage of this browser.
(() => {
  const KEY = "attncourse-progress";
  const all = (selector) => [...document.querySelectorAll(selector)];
  const listOf = (value) => (Array.isArray(value) ? value : []);

  function load() {
    try {
      const { read, solved, inPage } = JSON.parse(localStorage.getItem(KEY)) ?? {};
      return { read: listOf(read), solved: listOf(solved), ...(inPage && { inPage: listOf(inPage) }) };
    } catch {
      return { read: [], solved: [] };
    }
  }

  function save(state) {
    localStorage.setItem(KEY, JSON.stringify(state));
    show();
  }

  // an exercise whose check in its page has passed, which sees less than that of the notebook
  function solveInPage(name) {
    const state = load();
    const add = (list = []) => [...new Set([...list, name])];
    save({ ...state, solved: add(state.solved), inPage: add(state.inPage) });
  }

  function tick(link, words) {
    link.querySelector(".tick")?.remove();
    const label = `<span class="visually-hidden"> ${words}</span>`;
    if (words) link.insertAdjacentHTML("beforeend", `<span class="tick"> ✓${label}</span>`);
  }

  function show() {
    const state = load();
    const count = (names) => names.filter((name) => state.solved.includes(name)).length;
    for (const list of ["read", "solved"])
      for (const button of all(`[data-${list}]`))
        button.ariaPressed = String(state[list].includes(button.dataset[list]));
    for (const element of all("[data-exercises]")) {
      const names = element.dataset.exercises.split(" ");
      if (count(names)) element.hidden = false;
      element.textContent = `${count(names)} of ${names.length} exercises solved`;
    }
    for (const button of all("[data-reset]"))
      button.hidden = !state.read.length && !state.solved.length;
    for (const link of all(".bd-sidebar-primary a[href]"))
      tick(link, state.read.includes(link.pathname.match(/chapters\/(\w+)\.html$/)?.[1]) && "read");
  }

  for (const list of ["read", "solved"])
    for (const button of all(`[data-${list}]`))
      button.addEventListener("click", () => {
        const state = load();
        const name = button.dataset[list];
        const others = state[list].filter((other) => other !== name);
        save({ ...state, [list]: button.ariaPressed === "true" ? others : [...others, name] });
      });
  for (const button of all("[data-reset]"))
    button.addEventListener("click", () => {
      if (confirm("Forget which chapters you’ve read and which exercises you’ve solved?")) {
        save({ read: [], solved: [] });
        document.dispatchEvent(new Event("attncourse-forgotten"));
      }
    });
  globalThis.attncourseProgress = { load, save, solveInPage, listOf };
  // another tab may change it
  addEventListener("storage", show);
  show();
})();
