// What was wrong or needed help is asked once more; where a reader may begin; marks as a file.
(() => {
  const KEY = "attncourse-questions";
  const MISTAKES = "attncourse-mistakes";
  const { listOf } = attncourseProgress;
  const HERE = document.querySelector("[data-practice]");
  const escaped = (text) => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);

  function parsed(key) {
    try {
      return JSON.parse(localStorage.getItem(key)) ?? {};
    } catch {
      return {};
    }
  }
  const entries = (kept) => listOf(kept).filter((one) => typeof one?.id === "string");
  const load = () => entries(parsed(KEY));
  const save = (list) => localStorage.setItem(KEY, JSON.stringify(list));
  const both = (one, other) => [...new Set([...listOf(one), ...listOf(other)])];

  // of each question the mistakes that were made, for a teacher to whom the file is given
  function note(mistakes) {
    const kept = parsed(MISTAKES);
    for (const [id, places] of Object.entries(mistakes)) kept[id] = both(kept[id], places);
    localStorage.setItem(MISTAKES, JSON.stringify(kept));
  }

  // kept until it is right at once: the oldest first
  document.addEventListener("attncourse-answered", ({ detail: { id, right, helped, place } }) => {
    if (place !== undefined) note({ [id]: [place] });
    const list = load();
    const others = list.filter((one) => one.id !== id);
    const kept = list.find((one) => one.id === id) ?? { id, at: Date.now() };
    save(right && !helped ? others : [...others, kept].sort((one, other) => one.at - other.at));
  });
  document.addEventListener("attncourse-forgotten", () => {
    save([]);
    localStorage.removeItem(MISTAKES);
  });

  if (!HERE) return;
  // of each chapter: its title, its link, the file of its questions, its aims, what places a reader
  const chapters = JSON.parse(HERE.querySelector("script").textContent);
  const out = HERE.querySelector("[data-out]");
  const put = (html) => out.insertAdjacentHTML("beforeend", html);
  const linked = ({ link, title }, to = "") => `<a href="${link}${to}">${title}</a>`;

  async function ask(chapter, name) {
    const { examples, variants } = (await attncourseQuestion.load(chapter.file))[name];
    // of a single example, at least the options stand in another order
    const variant = Math.floor(Math.random() * (examples > 1 ? examples : variants.length));
    const box = await attncourseQuestion.box(`${chapter.slug}.${name}`, chapter.file, variant);
    out.append(box);
    return box;
  }

  async function onceMore() {
    const list = load();
    out.innerHTML = list.length ? "" : "<p>Nothing is left to ask again.</p>";
    for (const { id } of list) {
      const [slug, name] = id.split(".");
      const chapter = chapters.find((one) => one.slug === slug);
      // one that a newer course no longer asks is passed over
      if (!chapter || !(await attncourseQuestion.load(chapter.file))[name]) continue;
      put(`<p>From ${linked(chapter, `#question-${name.replaceAll("_", "-")}`)}:</p>`);
      await ask(chapter, name);
    }
  }

  const answered = (box) =>
    new Promise((done) => {
      box.addEventListener("attncourse-answered", ({ detail }) => done(detail.right), { once: true });
      const pass = '<button type="button" data-pass>I do not know</button>';
      box.querySelector("form").insertAdjacentHTML("beforeend", pass);
      box.querySelector("[data-pass]").addEventListener("click", () => done(false), { once: true });
    });

  // two questions a chapter, the second where the first was right, until one is not
  async function whereToBegin() {
    out.innerHTML = "";
    const passed = [];
    for (const chapter of chapters) {
      put(`<h2>${chapter.title}</h2>`);
      for (const name of chapter.placement) {
        const box = await ask(chapter, name);
        box.scrollIntoView({ block: "nearest" });
        if (!(await answered(box))) return placed(passed, chapter);
      }
      passed.push(chapter);
    }
    placed(passed, null);
  }

  function placed(passed, chapter) {
    const start = chapter
      ? `<p><b>Start with ${linked(chapter)}.</b></p>`
      : "<p><b>You may start with the exercises of any chapter.</b></p>";
    const aims = passed.map((one) => {
      const items = one.unasked.map((aim) => `<li>${aim}</li>`).join("");
      return `<p>In ${linked(one)}, you were not asked whether you can</p><ul>${items}</ul>`;
    });
    put(`<section data-placed tabindex="-1">${start}${aims.join("")}
      <p><button type="button" data-begin>Ask me again, with other numbers</button></p></section>`);
    out.querySelector("[data-placed]").focus();
  }

  function write() {
    const kept = { questions: load(), mistakes: parsed(MISTAKES) };
    const marks = { course: "attncourse", ...attncourseProgress.load(), ...kept };
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(marks)], { type: "application/json" }));
    link.download = "attncourse-marks.json";
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // what is in the file is added to what is here
  async function read(file) {
    const said = HERE.querySelector("[data-said]");
    let marks;
    try {
      marks = JSON.parse(await file.text());
    } catch {
      marks = null;
    }
    if (marks?.course !== "attncourse") {
      said.innerHTML = `${escaped(file.name)} holds no marks of this course. Nothing was changed.`;
      return;
    }
    const here = attncourseProgress.load();
    const progress = { read: both(here.read, marks.read), solved: both(here.solved, marks.solved) };
    attncourseProgress.save(progress);
    const mine = load();
    const theirs = entries(marks.questions).filter((one) => !mine.some(({ id }) => id === one.id));
    note(marks.mistakes ?? {});
    save([...mine, ...theirs].sort((one, other) => one.at - other.at));
    const { length } = progress.solved;
    const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
    const [chaptersRead, again] = [many(progress.read.length, "chapter"), many(load().length, "question")];
    said.textContent = `You have now read ${chaptersRead} and solved ${many(length, "exercise")}; ${again} to ask again.`;
    onceMore();
  }

  const begin = { "once-more": onceMore, "where-to-begin": whereToBegin }[HERE.dataset.practice];
  HERE.addEventListener("click", ({ target }) => {
    if (target.matches("[data-begin]")) begin();
    if (target.matches("[data-write]")) write();
  });
  HERE.querySelector("input[type=file]")?.addEventListener("change", ({ target }) => {
    if (target.files[0]) read(target.files[0]);
    target.value = "";
  });
  if (HERE.dataset.practice === "once-more") onceMore();
})();
