// The editors of a page: what is typed is coloured, kept in this browser, and checked by a worker.
globalThis.attncourseEditors = (() => {
  const KEY = "attncourse-answers";
  const SET_ASIDE_KEY = "attncourse-answers-set-aside";
  // of each exercise so many texts that others have taken the place of
  const MOST_SET_ASIDE = 5;
  const INDENT = "    ";
  const LEAVES_A_BLOCK = /^\s*(return|pass|break|continue)\b(?!.*[([{,\\]\s*$)/;
  const { chapters, python: pythonFiles } = attncourseFiles;
  const base = document.querySelector('script[src*="editor/editor.js"]').src;
  const boxes = [...document.querySelectorAll("[data-answer]")];
  const fieldOf = (box) => box.querySelector("textarea");
  // of each its given text, whether it is being changed, and whether its next check is being prepared
  const states = new Map(boxes.map((box) => [box, { given: fieldOf(box).defaultValue, isTyped: false, isPrepared: false }]));
  const boxAround = (element) => element.closest?.("[data-answer]");
  const escape = (text) => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
  const inCode = (text) => escape(text).replace(/`([^`]+)`/g, "<code>$1</code>");
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

  // what has been typed, by exercise; a page's own text is not kept

  function load(key = KEY) {
    try {
      const kept = JSON.parse(localStorage.getItem(key));
      return kept && typeof kept === "object" ? kept : {};
    } catch {
      return {};
    }
  }

  // keeps what belongs to an editor, or forgets it where there is nothing
  function store(box, value, key = KEY) {
    const kept = load(key);
    delete kept[box.dataset.kept];
    if (value) kept[box.dataset.kept] = value;
    try {
      localStorage.setItem(key, JSON.stringify(kept));
    } catch {
      say(box, "<p>This browser has no room left to keep your answer. Copy it before you leave.</p>");
    }
  }

  function keep(box) {
    const { value } = fieldOf(box);
    store(box, value === states.get(box).given ? "" : value);
  }

  // the texts that others took the place of, the last one first
  function setAside(box) {
    const texts = load(SET_ASIDE_KEY)[box.dataset.kept];
    return Array.isArray(texts) ? texts.filter((text) => typeof text === "string") : [];
  }

  // puts a text in the place of what is there, which can be brought back
  function exchange(box, text, others = setAside(box), where = "unshift") {
    const { value } = fieldOf(box);
    const texts = others.filter((one) => one !== text && one !== value);
    if (value !== states.get(box).given) texts[where](value);
    store(box, texts.length ? texts.slice(0, MOST_SET_ASIDE) : "", SET_ASIDE_KEY);
    return text;
  }

  // the text

  function draw(box) {
    const { value } = fieldOf(box);
    box.querySelector("pre").innerHTML = `${attncoursePython.highlight(value)}\n`;
    const lines = value.split("\n").map((_, place) => place + 1);
    box.querySelector("[data-lines]").textContent = lines.join("\n");
    button(box, "restart").hidden = value === states.get(box).given;
    button(box, "bring").hidden = !setAside(box).length;
  }

  function markLine(box, line) {
    const code = box.querySelector(".highlight");
    code.toggleAttribute("data-wrong", line !== null);
    code.style.setProperty("--wrong", line);
  }

  // in place of a part of the text, such that the browser can undo it
  let replaces = false;
  function replace(field, start, end, text) {
    field.focus();
    field.setSelectionRange(start, end);
    replaces = true;
    document.execCommand(text ? "insertText" : "delete", false, text);
    replaces = false;
  }

  const lineStart = ({ value, selectionStart }) => value.lastIndexOf("\n", selectionStart - 1) + 1;
  // how many blanks lead to the column of the next indentation on the left
  const backFrom = (column) => column % INDENT.length || INDENT.length;

  // indents the lines of the selection, or takes that away
  function indent(field, back) {
    const { value, selectionStart, selectionEnd } = field;
    const start = lineStart(field);
    if (!back && selectionStart === selectionEnd) {
      const column = selectionStart - start;
      return replace(field, selectionStart, selectionEnd, INDENT.slice(column % INDENT.length));
    }
    const lines = value.slice(start, selectionEnd).split("\n");
    const outdented = (line) => line.replace(/^(\t| +)/, (blanks) => (blanks === "\t" ? "" : blanks.slice(backFrom(blanks.length))));
    const changed = lines.map((line) => (back ? outdented(line) : INDENT + line)).join("\n");
    if (changed === lines.join("\n")) return;
    replace(field, start, selectionEnd, changed);
    const end = start + changed.length;
    field.setSelectionRange(selectionStart === selectionEnd ? end : start, end);
  }

  function breakLine(field) {
    const { value, selectionStart, selectionEnd } = field;
    const line = value.slice(lineStart(field), selectionStart);
    const [blanks] = line.match(/^[ \t]*/);
    const next = LEAVES_A_BLOCK.test(line) ? blanks.slice(backFrom(blanks.length)) : blanks;
    replace(field, selectionStart, selectionEnd, `\n${next}${/:\s*(#.*)?$/.test(line) ? INDENT : ""}`);
  }

  // where only blanks stand before the caret, the column of the last indentation; whether they do
  function deleteIndentation(field) {
    const { value, selectionStart, selectionEnd } = field;
    const column = selectionStart - lineStart(field);
    if (selectionStart !== selectionEnd || !/^ +$/.test(value.slice(selectionStart - column, selectionStart))) return false;
    replace(field, selectionStart - backFrom(column), selectionStart, "");
    return true;
  }

  // a place in the text that can be seen without scrolling sideways is shown so
  const letters = document.createElement("canvas").getContext("2d");
  function reveal(box) {
    const field = fieldOf(box);
    const code = box.querySelector(".highlight");
    letters.font = getComputedStyle(field).font;
    const column = field.selectionStart - lineStart(field) + 1;
    const room = code.clientWidth - box.querySelector("[data-lines]").offsetWidth;
    if (column * letters.measureText("0").width < room) code.scrollLeft = 0;
  }

  // what is said below

  const button = (box, name) => box.querySelector(`[data-do=${name}]`);

  function say(box, html, status = "") {
    box.dataset.status = status;
    delete box.dataset.stale;
    box.querySelector("[role=status]").innerHTML = html;
  }

  function table(rows) {
    const cells = rows.map(([name, value]) => `<tr><th scope="row">${escape(name)}</th><td><pre tabindex="0">${escape(value)}</pre></td></tr>`);
    return `<details><summary>The inputs, the expected output and your output</summary><table>${cells.join("")}</table></details>`;
  }

  function notebookLink() {
    const colab = document.querySelector(".to-run a")?.href;
    return colab ? `<a href="${colab}">Open the notebook in Colab</a>, and paste your answer there.` : "";
  }

  function show(box, { status, said, line, printed, notes, failed }) {
    const [first, ...others] = said.split("\n");
    const parts = [`<p><strong>${inCode(first)}</strong></p>`];
    if (others.length) parts.push(`<p>${others.map((one) => inCode(one.trim())).join("<br>")}</p>`);
    for (const note of notes) parts.push(`<p>${escape(note)}</p>`);
    if (printed) parts.push(`<p>Your code printed:</p><pre tabindex="0">${escape(printed)}</pre>`);
    if (said.includes("not in the page")) parts.push(`<p>${notebookLink()}</p>`);
    if (failed.length) parts.push(table(failed));
    say(box, parts.join(""), status);
    markLine(box, line);
    if (status === "passed" && box.dataset.kept === box.dataset.answer) attncourseProgress.solveInPage(box.dataset.answer);
  }

  // the worker: one for a page, started with the first check or the first change of a text

  const COULD_NOT_LOAD = "Python couldn’t be loaded";
  // boxes whose answers are being checked, by the number of the request
  const asked = new Map();
  let requests = 0;
  let worker;
  // the box with whose change the worker was started, and what it does, with the share that is done
  let starter;
  let phase;

  // why no worker can run here, if none can
  function whyNot() {
    if (location.protocol === "file:") {
      const address = document.querySelector("link[rel=canonical]").href;
      return `A copy on your disk can’t check answers. <a href="${address}">The site</a> can.`;
    }
    return isSecureContext ? "" : "Answers can be checked only on a page whose address begins with https.";
  }

  function startWorker(box) {
    if (worker) return;
    const files = [...pythonFiles, chapters[box.dataset.chapter]];
    const absolute = files.map((file) => ({ ...file, url: new URL(file.url, base).href }));
    worker = new Worker(new URL(attncourseFiles.worker, base));
    worker.onmessage = ({ data }) => receive(data);
    worker.onerror = ({ message }) => fail(`${COULD_NOT_LOAD}: ${message}`);
    worker.postMessage({ files: absolute, version: attncourseFiles.version });
    starter = box;
    enter({ words: "Loading Python", share: 0 });
  }

  // what of the next check does not depend on the answer is done while that is being written
  function prepare(box) {
    const state = states.get(box);
    if (state.isPrepared) return;
    state.isPrepared = true;
    worker.postMessage({ prepare: box.dataset.answer });
  }

  function endWorker() {
    worker?.terminate();
    worker = starter = undefined;
    for (const state of states.values()) state.isPrepared = false;
    const boxes = new Set(asked.values());
    asked.clear();
    enter({});
    return boxes;
  }

  function receive({ loaded, total, starting, ready, id, result, error }) {
    if (loaded) enter({ words: `Loading Python: ${megabytes(loaded)} of ${megabytes(total)} MB, which your browser keeps for next time`, share: loaded / total });
    if (starting) enter({ words: "Starting Python" });
    if (ready) {
      starter = undefined;
      enter({ words: "Checking", ready });
    }
    if (result) {
      const box = asked.get(id);
      asked.delete(id);
      enter(phase);
      show(box, result);
    }
    if (error) fail(phase.ready ? `Python stopped: ${error}. Your answer is safe, and Check starts Python again.` : `${COULD_NOT_LOAD}: ${error}`);
  }

  function fail(sentence) {
    const started = starter;
    for (const box of endWorker().add(started)) if (box) say(box, `<p><strong>${escape(sentence)}</strong></p>`, "error");
  }

  // shows what the worker does in each editor that waits for it
  function enter(next) {
    phase = next;
    const waiting = new Set(asked.values());
    for (const box of boxes) {
      const bar = box.querySelector("[data-wait]");
      bar.hidden = !waiting.has(box) && box !== starter;
      button(box, "stop").hidden = !waiting.has(box);
      bar.lastElementChild.textContent = phase.words ?? "";
      if (phase.share === undefined) bar.firstElementChild.removeAttribute("value");
      else bar.firstElementChild.value = phase.share;
    }
  }

  function check(box) {
    const reason = whyNot();
    if (reason) return say(box, `<p>${reason}</p>`);
    startWorker(box);
    markLine(box, null);
    say(box, "");
    requests += 1;
    asked.set(requests, box);
    enter(phase);
    worker.postMessage({ id: requests, name: box.dataset.answer, source: fieldOf(box).value });
    states.get(box).isPrepared = false;
  }

  function stop(box) {
    for (const one of endWorker()) say(one, "<p>Stopped. Your answer is as you left it.</p>");
    button(box, "check").focus();
  }

  // the given text again
  function restart(box) {
    const field = fieldOf(box);
    replace(field, 0, field.value.length, exchange(box, states.get(box).given));
    draw(box);
  }

  // what stood there before; each time an earlier text, and after the earliest the present one
  function bring(box) {
    const field = fieldOf(box);
    const [text, ...earlier] = setAside(box);
    replace(field, 0, field.value.length, exchange(box, text, earlier, "push"));
    draw(box);
  }

  // opens the next hint below the editor
  function hint(box) {
    const hints = [...box.parentElement.querySelectorAll(":scope > details")].slice(0, 3);
    const next = hints.find((one) => !one.open) ?? hints.at(-1);
    next.open = true;
    next.querySelector("summary").focus();
    next.scrollIntoView({ block: "nearest" });
    button(box, "hint").hidden = next === hints.at(-1);
    button(box, "hint").textContent = `Hint ${hints.indexOf(next) + 2}`;
  }

  // the notebook of the page's exercises

  const answered = () => boxes.filter((box) => box.dataset.kept === box.dataset.answer);
  const notebookOutput = (words) => (document.querySelector("[data-answers] output").textContent = words);

  async function download() {
    const { name } = document.querySelector("[data-answers]").dataset;
    const response = await fetch(new URL(attncourseFiles.notebooks[name], base)).catch(() => null);
    if (!response?.ok) return notebookOutput("The notebook couldn’t be loaded.");
    const answers = Object.fromEntries(answered().map((box) => [box.dataset.answer, fieldOf(box).value]));
    const text = attncourseNotebook.withAnswers(await response.text(), answers);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ipynb+json" }));
    link.download = `${name}.ipynb`;
    link.click();
    URL.revokeObjectURL(link.href);
    notebookOutput(`${link.download} now holds your answers from this page.`);
  }

  async function open(file) {
    let answers;
    try {
      answers = attncourseNotebook.answersIn(await file.text());
    } catch {
      return notebookOutput(`${file.name} isn’t a notebook, so nothing was changed.`);
    }
    const changed = answered().filter((box) => box.dataset.answer in answers && answers[box.dataset.answer] !== fieldOf(box).value);
    for (const box of changed) {
      fieldOf(box).value = exchange(box, answers[box.dataset.answer]);
      draw(box);
      keep(box);
      box.toggleAttribute("data-stale", true);
    }
    notebookOutput(
      changed.length
        ? `${file.name}: ${changed.length} of ${answered().length} answers on this page differed, and now match the notebook.`
        : `${file.name}: the answers on this page already match it.`,
    );
  }

  // events

  const ACTIONS = { check, stop, restart, bring, hint, download };
  const press = (one) => ACTIONS[one.dataset.do](boxAround(one));

  document.addEventListener("input", ({ target }) => {
    const box = boxAround(target);
    if (!box) return;
    states.get(box).isTyped = true;
    draw(box);
    keep(box);
    markLine(box, null);
    box.toggleAttribute("data-stale", true);
    if (whyNot()) return;
    startWorker(box);
    prepare(box);
  });
  document.addEventListener("beforeinput", (event) => {
    const { data, inputType, target } = event;
    if (replaces || !boxAround(target)) return;
    const breaks = ["insertLineBreak", "insertParagraph"].includes(inputType) || (inputType === "insertText" && data === "\n");
    if (breaks) breakLine(target);
    if (breaks || (inputType === "deleteContentBackward" && deleteIndentation(target))) event.preventDefault();
  });
  document.addEventListener("selectionchange", () => {
    const box = boxAround(document.activeElement);
    if (box && document.activeElement === fieldOf(box)) requestAnimationFrame(() => reveal(box));
  });
  // Tab indents once a text is being changed, until Escape; before that it goes on to what follows
  document.addEventListener("keydown", (event) => {
    const { key, target, shiftKey, ctrlKey, metaKey } = event;
    const box = boxAround(target);
    if (!box || target !== fieldOf(box)) return;
    const state = states.get(box);
    const checks = key === "Enter" && (ctrlKey || metaKey || shiftKey);
    if (checks || (key === "Tab" && state.isTyped)) event.preventDefault();
    if (checks) check(box);
    else if (key === "Tab" && state.isTyped) indent(target, shiftKey);
    else if (!["Shift", "Tab"].includes(key)) state.isTyped = key !== "Escape";
  });
  for (const [kind, isTyped] of [["pointerup", true], ["focusout", false]])
    document.addEventListener(kind, ({ target }) => {
      if (boxAround(target)) states.get(boxAround(target)).isTyped = isTyped;
    });
  document.addEventListener("change", ({ target }) => {
    if (!target.matches("[data-answers] input[type=file]")) return;
    if (target.files[0]) open(target.files[0]);
    target.value = "";
  });
  // another tab may change an answer
  addEventListener("storage", ({ key }) => key === KEY && boxes.forEach(restore));

  function restore(box) {
    const text = load()[box.dataset.kept];
    const field = fieldOf(box);
    const wanted = typeof text === "string" ? text : states.get(box).given;
    if (field.value !== wanted) field.value = wanted;
    draw(box);
  }

  for (const box of boxes) {
    const field = fieldOf(box);
    box.querySelector("[data-wait]").innerHTML = '<progress aria-label="Progress"></progress> <span></span>';
    // what was typed while this was loaded counts
    if (field.value === states.get(box).given) restore(box);
    else {
      draw(box);
      keep(box);
    }
  }
  return { press };
})();
