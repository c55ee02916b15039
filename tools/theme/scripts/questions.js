// Questions inside a page: judged in the browser, with their usual mistakes; nothing is sent.
(() => {
  const questionsByChapter = {};
  const loading = {};
  const CHOOSE_FIRST = "Choose an answer first.";
  const WRITE_FIRST = ["Write a number first.", "Write one number in each box."];
  const FEEDBACK = {
    right: "Right.",
    unread: "I can’t read that as a number. Try 0.25, 1/4, 25% or 2^3.",
    digits: "That’s right as far as it goes. Give more digits.",
    cut: "Nearly: you cut off the last digits. Round instead, or write a fraction.",
    comma: "Is your comma for thousands or for decimals? Write 20000 or 20.0.",
    exchanged: "Those are the right numbers, but in the wrong order.",
  };
  const MOST_TRIES = 2;

  globalThis.attncourseQuestions = (chapter, questions) => {
    questionsByChapter[chapter] = questions;
  };

  // loads the file of a chapter's questions, once
  function load(file) {
    const chapter = file.match(/^\w+/)[0];
    const base = document.querySelector('script[src*="site.js"]').src.replace(/site\.js.*$/, "");
    return (loading[file] ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `${base}questions/${file}`;
      script.onload = () => resolve(questionsByChapter[chapter]);
      script.onerror = reject;
      document.head.append(script);
    }));
  }

  // the question in a box, and the variant shown
  async function variantOf(box) {
    const [chapter, name] = box.dataset.question.split(".");
    const question = (await load(box.dataset.script))[name];
    return { question, variant: question.variants[Number(box.dataset.variant ?? 0)] };
  }

  function showForms(box) {
    for (const form of box.querySelectorAll("form")) form.hidden = false;
  }

  // the answer in a box, for attncourseAnswers.judge; null where it is incomplete
  function answerIn(box) {
    const fields = [...box.querySelectorAll("input[type=text]")];
    if (fields.length) return fields.every((field) => field.value.trim()) ? fields.map((field) => field.value) : null;
    const chosen = box.querySelector("input[type=radio]:checked");
    if (chosen) return Number(chosen.value);
    const lines = [...box.querySelectorAll(".program [data-line]")].map((line) => Number(line.dataset.line));
    const unused = box.querySelectorAll(".lines [data-line]").length;
    return lines.length && unused === 1 ? lines : null;
  }

  const fieldCount = (box) => box.querySelectorAll("input[type=text]").length;
  const missingMessage = (box) => {
    if (fieldCount(box)) return WRITE_FIRST[Number(fieldCount(box) > 1)];
    const lines = box.querySelectorAll("[data-line]").length;
    return lines ? `Choose ${lines - 1} of the ${lines} lines, in order.` : CHOOSE_FIRST;
  };

  function showFeedback(box, html, status) {
    box.dataset.status = status;
    box.querySelector("output").innerHTML = html;
  }

  function offerAnother(box) {
    if (box.querySelector("[data-another]")) return;
    const button = '<button type="button" data-another>Another one</button>';
    box.querySelector("form").insertAdjacentHTML("beforeend", button);
  }

  // shows the next step of the answer, and a button for the one after
  function showNextStep(box) {
    const details = box.querySelector("details");
    const steps = [...details.querySelectorAll("li, ol ~ *")];
    if (!details.open && !details.dataset.shown) steps.forEach((step) => (step.hidden = true));
    details.open = true;
    const next = steps.find((step) => step.hidden);
    if (next) next.hidden = false;
    details.dataset.shown = "yes";
    details.querySelector("[data-step]")?.remove();
    if (steps.some((step) => step.hidden))
      details.insertAdjacentHTML("beforeend", '<button type="button" data-step>Next step</button>');
  }

  // a sentence about one of the maps to choose from, with its number
  const withMapNumber = (sentence, number) =>
    sentence.replace("This map", `Map ${number}`).replace("this map", `map ${number}`);

  async function judge(box) {
    const given = answerIn(box);
    if (given === null) return showFeedback(box, missingMessage(box), "asked");
    const { question, variant } = await variantOf(box);
    const { status, place } = attncourseAnswers.judge(question, variant, given);
    const boxesHint = status === "unread" && fieldCount(box) > 1 ? ` ${WRITE_FIRST[1]}` : "";
    const feedback = { ...FEEDBACK, unknown: question.check };
    const sentence = feedback[status] ?? question.says[place];
    const isMap = question.kind === "maps";
    showFeedback(box, (isMap ? withMapNumber(sentence, given + 1) : sentence) + boxesHint, status);
    const helped = "looked" in box.dataset || box.dataset.tries > 0;
    if (status === "right") {
      box.dataset.answered = "yes";
      if (question.examples > 1) offerAnother(box);
    } else if (["mistake", "unknown", "exchanged"].includes(status)) {
      box.dataset.tries = Number(box.dataset.tries ?? 0) + 1;
      if (box.dataset.tries >= MOST_TRIES) {
        showNextStep(box);
        if (question.examples > 1) offerAnother(box);
      }
    } else return;
    const detail = { id: box.dataset.question, right: status === "right", helped, place };
    box.dispatchEvent(new CustomEvent("attncourse-answered", { bubbles: true, detail }));
  }

  async function showAnother(box) {
    const { question } = await variantOf(box);
    box.dataset.variant = (Number(box.dataset.variant ?? 0) + 1) % question.examples;
    await showVariant(box);
    box.querySelector("input, .lines button")?.focus();
  }

  async function showVariant(box) {
    const { variant } = await variantOf(box);
    box.innerHTML = variant.body;
    for (const key of ["tries", "status", "looked", "answered"]) delete box.dataset[key];
    showForms(box);
  }

  // creates a box for a question on another page than its own
  async function createBox(id, file, variant) {
    const box = document.createElement("div");
    Object.assign(box, { className: "question", role: "group", ariaLabel: "Question" });
    Object.assign(box.dataset, { question: id, script: file, variant });
    await showVariant(box);
    return box;
  }

  const boxAround = (event) => event.target.closest?.(".question");
  for (const kind of ["pointerdown", "focusin"])
    document.addEventListener(kind, (event) => boxAround(event) && load(boxAround(event).dataset.script));
  document.addEventListener("submit", (event) => {
    if (!boxAround(event)) return;
    event.preventDefault();
    judge(boxAround(event));
  });
  // the feedback on an earlier answer is removed; one that helps to find the next stays
  function clearFeedback(box) {
    if (box.dataset.status === "right" || box.querySelector("[type=radio]")) showFeedback(box, "", "");
  }

  document.addEventListener("input", (event) => boxAround(event) && clearFeedback(boxAround(event)));
  // a search in the page may open the steps, too: only who asks for them has looked
  document.addEventListener("click", (event) => {
    const details = event.target.closest?.(".question summary")?.parentElement;
    const box = details && boxAround(event);
    if (!box || details.open || "answered" in box.dataset) return;
    box.dataset.looked = "yes";
    const detail = { id: box.dataset.question };
    box.dispatchEvent(new CustomEvent("attncourse-looked", { bubbles: true, detail }));
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    const box = button && boxAround(event);
    if (!box) return;
    if ("another" in button.dataset) showAnother(box);
    if ("step" in button.dataset) showNextStep(box);
    if ("line" in button.dataset) {
      const target = button.closest(".program") ? ".lines" : ".program";
      box.querySelector(target).append(button);
      clearFeedback(box);
      button.focus();
    }
  });
  document.querySelectorAll(".question").forEach(showForms);
  globalThis.attncourseQuestion = { box: createBox, load };
})();
