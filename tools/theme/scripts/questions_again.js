// The pages that ask questions again and that place a reader; progress as a file.
(() => {
  const KEY = "attncourse-questions";
  const MISTAKES = "attncourse-mistakes";
  const { listOf } = attncourseProgress;
  const PAGE = document.querySelector("[data-practice]");
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

  // a question stays in the list until its first answer is right, without help; the oldest come first
  document.addEventListener("attncourse-answered", ({ detail: { id, right, helped, place } }) => {
    if (place !== undefined) addMistakes({ [id]: [place] });
    const list = load();
    const others = list.filter((entry) => entry.id !== id);
    const entry = list.find((entry) => entry.id === id) ?? { id, at: Date.now() };
    save(right && !helped ? others : [...others, entry].sort((one, other) => one.at - other.at));
  });
  document.addEventListener("attncourse-forgotten", () => {
    save([]);
    localStorage.removeItem(MISTAKES);
  });

  if (!PAGE) return;
  // of each chapter: slug, title, link, file of questions, placement questions, aims not asked about
  const chapters = JSON.parse(PAGE.querySelector("script").textContent);
  const out = PAGE.querySelector("[data-out]");
  const append = (html) => out.insertAdjacentHTML("beforeend", html);
  const chapterLink = ({ link, title }, to = "") => `<a href="${link}${to}">${title}</a>`;

  async function askQuestion(chapter, name) {
    const { examples, variants } = (await attncourseQuestion.load(chapter.file))[name];
    // the variants of a single example differ in the order of the options
    const variant = Math.floor(Math.random() * (examples > 1 ? examples : variants.length));
    const box = await attncourseQuestion.box(`${chapter.slug}.${name}`, chapter.file, variant);
    out.append(box);
    return box;
  }

  async function askAgain() {
    const list = load();
    out.innerHTML = list.length ? "" : "<p>Nothing is left to ask again.</p>";
    for (const { id } of list) {
      const [slug, name] = id.split(".");
      const chapter = chapters.find((one) => one.slug === slug);
      // a question that the course no longer has is skipped
      if (!chapter || !(await attncourseQuestion.load(chapter.file))[name]) continue;
      append(`<p>From ${chapterLink(chapter, `#question-${name.replaceAll("_", "-")}`)}:</p>`);
      await askQuestion(chapter, name);
    }
  }

  const waitForAnswer = (box) =>
    new Promise((resolve) => {
      box.addEventListener("attncourse-answered", ({ detail }) => resolve(detail.right), { once: true });
      const pass = '<button type="button" data-pass>I do not know</button>';
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
        const box = await askQuestion(chapter, name);
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
      : "<p><b>You may start with the exercises of any chapter.</b></p>";
    const aims = passed.map((chapter) => {
      const items = chapter.unasked.map((aim) => `<li>${aim}</li>`).join("");
      return `<p>In ${chapterLink(chapter)}, you were not asked whether you can</p><ul>${items}</ul>`;
    });
    append(`<section data-placed tabindex="-1">${start}${aims.join("")}
      <p><button type="button" data-begin>Ask me again, with other numbers</button></p></section>`);
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
    const output = PAGE.querySelector("[data-said]");
    let marks;
    try {
      marks = JSON.parse(await file.text());
    } catch {
      marks = null;
    }
    if (marks?.course !== "attncourse") {
      output.innerHTML = `${escapeHtml(file.name)} holds no marks of this course. Nothing was changed.`;
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
    output.textContent = `You have now read ${chaptersRead} and solved ${counted(length, "exercise")}; ${again} to ask again.`;
    askAgain();
  }

  const begin = { "once-more": askAgain, "where-to-begin": placeReader }[PAGE.dataset.practice];
  PAGE.addEventListener("click", ({ target }) => {
    if (target.matches("[data-begin]")) begin();
    if (target.matches("[data-write]")) downloadMarks();
  });
  PAGE.querySelector("input[type=file]")?.addEventListener("change", ({ target }) => {
    if (target.files[0]) importMarks(target.files[0]);
    target.value = "";
  });
  if (PAGE.dataset.practice === "once-more") askAgain();
})();
