// The pages that ask questions again and that place a reader; progress as a file.
(() => {
  const KEY = "attncourse-questions";
  const MISTAKES = "attncourse-mistakes";
  const { listOf } = attncourseProgress;
  const PAGE = document.querySelector("[data-practice]");
  const MARKS = document.querySelector("[data-marks]");
  const escapeHtml = (text) => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);

  function readStored(key) {
    try {
      return JSON.parse(localStorage.getItem(key)) ?? {};
    } catch {
      return {};
    }
  }
  const entries = (value) => listOf(value).filter((entry) => typeof entry?.id === "string");
  const load = () => entries(readStored(KEY));
  const save = (list) => localStorage.setItem(KEY, JSON.stringify(list));
  const union = (one, other) => [...new Set([...listOf(one), ...listOf(other)])];

  // stores the mistakes made in each question, for a teacher who gets the file
  function addMistakes(mistakes) {
    const kept = readStored(MISTAKES);
    for (const [id, places] of Object.entries(mistakes)) kept[id] = union(kept[id], places);
    localStorage.setItem(MISTAKES, JSON.stringify(kept));
  }

  function keep(id) {
    const list = load();
    if (list.some((entry) => entry.id === id)) return;
    save([...list, { id, at: Date.now() }].sort((one, other) => one.at - other.at));
  }

  // a question stays in the list until its first answer is right, without help; the oldest come first
  document.addEventListener("attncourse-answered", ({ detail: { id, right, helped, place } }) => {
    if (place !== undefined) addMistakes({ [id]: [place] });
    if (right && !helped) save(load().filter((entry) => entry.id !== id));
    else keep(id);
  });
  document.addEventListener("attncourse-looked", ({ detail: { id } }) => keep(id));
  document.addEventListener("attncourse-forgotten", () => {
    for (const key of [KEY, MISTAKES]) localStorage.removeItem(key);
  });

  if (!PAGE) return;
  // of each chapter: slug, title, link, file of questions, placement questions, aims not asked about
  const chapters = JSON.parse(PAGE.querySelector("script").textContent);
  const out = PAGE.querySelector("[data-out]");
  const append = (html) => out.insertAdjacentHTML("beforeend", html);
  const chapterLink = ({ link, title }, to = "") => `<a href="${link}${to}">${title}</a>`;

  async function boxOf(chapter, name) {
    const { examples, variants } = (await attncourseQuestion.load(chapter.file))[name];
    // the variants of a single example differ in the order of the options
    const variant = Math.floor(Math.random() * (examples > 1 ? examples : variants.length));
    return attncourseQuestion.box(`${chapter.slug}.${name}`, chapter.file, variant);
  }

  // shows all at once, below which nothing moves
  async function askAgain() {
    const items = [];
    for (const { id } of load()) {
      const [slug, name] = id.split(".");
      const chapter = chapters.find((one) => one.slug === slug);
      // a question that the course no longer has is skipped
      if (!chapter || !(await attncourseQuestion.load(chapter.file))[name]) continue;
      const source = document.createElement("p");
      source.innerHTML = `From ${chapterLink(chapter, `#question-${name.replaceAll("_", "-")}`)}:`;
      items.push(source, await boxOf(chapter, name));
    }
    if (items.length) out.replaceChildren(...items);
    // before the first answer nothing is stored, and the page says so
    else if (Array.isArray(readStored(KEY))) out.innerHTML = "<p>There’s nothing left to ask you again.</p>";
  }

  const waitForAnswer = (box) =>
    new Promise((resolve) => {
      box.addEventListener("attncourse-answered", ({ detail }) => resolve(detail.right), { once: true });
      const pass = '<button type="button" data-pass>I don’t know</button>';
      box.querySelector("form").insertAdjacentHTML("beforeend", pass);
      box.querySelector("[data-pass]").addEventListener("click", () => resolve(false), { once: true });
    });

  // asks the placement questions chapter by chapter, until an answer is wrong
  async function placeReader() {
    out.innerHTML = "";
    const passed = [];
    for (const chapter of chapters) {
      append(`<h2>${chapter.title}</h2>`);
      for (const name of chapter.placement) {
        const box = await boxOf(chapter, name);
        out.append(box);
        box.scrollIntoView({ block: "nearest" });
        if (!(await waitForAnswer(box))) return showPlacement(passed, chapter);
      }
      passed.push(chapter);
    }
    showPlacement(passed, null);
  }

  function showPlacement(passed, chapter) {
    const start = chapter
      ? `<p><b>Start with ${chapterLink(chapter)}.</b></p>`
      : "<p><b>You can start with the exercises of any chapter.</b></p>";
    const aims = passed.map((chapter) => {
      const items = chapter.unasked.map((aim) => `<li>${aim}</li>`).join("");
      return `<p>In ${chapterLink(chapter)}, we didn’t ask whether you can</p><ul>${items}</ul>`;
    });
    append(`<section data-placed tabindex="-1">${start}${aims.join("")}
      <p><button type="button" data-begin>Ask me again, with different numbers</button></p></section>`);
    out.querySelector("[data-placed]").focus();
  }

  function downloadMarks() {
    const kept = { questions: load(), mistakes: readStored(MISTAKES) };
    const marks = { course: "attncourse", ...attncourseProgress.load(), ...kept };
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(marks)], { type: "application/json" }));
    link.download = "attncourse-marks.json";
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // adds the marks in a file to those of this browser
  async function importMarks(file) {
    const output = MARKS.querySelector("output");
    let marks;
    try {
      marks = JSON.parse(await file.text());
    } catch {
      marks = null;
    }
    if (marks?.course !== "attncourse") {
      output.innerHTML = `${escapeHtml(file.name)} holds no marks from this course, so nothing was changed.`;
      return;
    }
    const local = attncourseProgress.load();
    const progress = { read: union(local.read, marks.read), solved: union(local.solved, marks.solved) };
    const inPage = union(local.inPage, marks.inPage);
    attncourseProgress.save({ ...progress, ...(inPage.length && { inPage }) });
    const localQuestions = load();
    const newQuestions = entries(marks.questions).filter((one) => !localQuestions.some(({ id }) => id === one.id));
    addMistakes(marks.mistakes ?? {});
    save([...localQuestions, ...newQuestions].sort((one, other) => one.at - other.at));
    const { length } = progress.solved;
    const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
    const [chaptersRead, again] = [counted(progress.read.length, "chapter"), counted(load().length, "question")];
    output.textContent = `You’ve now read ${chaptersRead} and solved ${counted(length, "exercise")}, with ${again} to ask again.`;
    askAgain();
  }

  const begin = { "once-more": askAgain, "where-to-begin": placeReader }[PAGE.dataset.practice];
  PAGE.addEventListener("click", ({ target }) => {
    if (target.matches("[data-begin]")) begin();
  });
  MARKS?.querySelector("button").addEventListener("click", downloadMarks);
  MARKS?.querySelector("input").addEventListener("change", ({ target }) => {
    if (target.files[0]) importMarks(target.files[0]);
    target.value = "";
  });
  if (PAGE.dataset.practice === "once-more") askAgain();
})();
