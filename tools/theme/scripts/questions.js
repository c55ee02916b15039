// Questions inside a page: judged here, with what is known of the usual mistakes; nothing is sent.
(() => {
  const known = {};
  const waiting = {};
  const CHOOSE = "Choose an answer first.";
  const NUMBER = ["Write a number first.", "Write one number in each box."];
  const WORDS = {
    right: "Right.",
    unread: "That is no number that can be read here: write 0.25, 1/4 or 25 %.",
    digits: "That is right as far as it goes. Give more digits.",
    cut: "Nearly: round it, or write a fraction.",
    comma: "Does your comma stand between thousands, or before decimals? Write 20000 or 20.0.",
    exchanged: "These are the right numbers, but in another order.",
  };
  const MOST_TRIES = 2;

  globalThis.attncourseQuestions = (chapter, questions) => {
    known[chapter] = questions;
  };

  // the file of a chapter's questions, once
  function load(file) {
    const chapter = file.match(/^\w+/)[0];
    const base = document.querySelector('script[src*="site.js"]').src.replace(/site\.js.*$/, "");
    return (waiting[file] ??= new Promise((done, fail) => {
      const script = document.createElement("script");
      script.src = `${base}questions/${file}`;
      script.onload = () => done(known[chapter]);
      script.onerror = fail;
      document.head.append(script);
    }));
  }

  async function of(box) {
    const [chapter, name] = box.dataset.question.split(".");
    const question = (await load(box.dataset.script))[name];
    return { question, variant: question.variants[Number(box.dataset.variant ?? 0)] };
  }

  function show(box) {
    for (const form of box.querySelectorAll("form")) form.hidden = false;
  }

  function answer(box) {
    const fields = [...box.querySelectorAll("input[type=text]")];
    if (fields.length) return fields.every((one) => one.value.trim()) ? fields.map((one) => one.value) : null;
    const chosen = box.querySelector("input[type=radio]:checked");
    if (chosen) return Number(chosen.value);
    const lines = [...box.querySelectorAll(".program [data-line]")].map((one) => Number(one.dataset.line));
    const left = box.querySelectorAll(".lines [data-line]").length;
    return lines.length && left === 1 ? lines : null;
  }

  const fieldsOf = (box) => box.querySelectorAll("input[type=text]").length;
  const missing = (box) => {
    if (fieldsOf(box)) return NUMBER[Number(fieldsOf(box) > 1)];
    const lines = box.querySelectorAll("[data-line]").length;
    return lines ? `Choose ${lines - 1} of the ${lines} lines, in order.` : CHOOSE;
  };

  function say(box, words, status) {
    box.dataset.status = status;
    box.querySelector("output").innerHTML = words;
  }

  function offer(box) {
    if (box.querySelector("[data-another]")) return;
    const button = '<button type="button" data-another>Another one</button>';
    box.querySelector("form").insertAdjacentHTML("beforeend", button);
  }

  // one step of the answer, and a button for the next
  function step(box) {
    const details = box.querySelector("details");
    const steps = [...details.querySelectorAll("li, ol ~ *")];
    if (!details.open && !details.dataset.shown) steps.forEach((one) => (one.hidden = true));
    details.open = true;
    const next = steps.find((one) => one.hidden);
    if (next) next.hidden = false;
    details.dataset.shown = "yes";
    details.querySelector("[data-step]")?.remove();
    if (steps.some((one) => one.hidden))
      details.insertAdjacentHTML("beforeend", '<button type="button" data-step>Next step</button>');
  }

  async function judge(box) {
    const given = answer(box);
    if (given === null) return say(box, missing(box), "asked");
    const { question, variant } = await of(box);
    const { status, place } = attncourseAnswers.judge(question, variant, given);
    const many = status === "unread" && fieldsOf(box) > 1 ? ` ${NUMBER[1]}` : "";
    const words = { ...WORDS, unknown: question.check };
    say(box, (words[status] ?? question.says[place]) + many, status);
    const helped = box.querySelector("details").open || box.dataset.tries > 0;
    if (status === "right") {
      if (question.examples > 1) offer(box);
    } else if (["mistake", "unknown", "exchanged"].includes(status)) {
      box.dataset.tries = Number(box.dataset.tries ?? 0) + 1;
      if (box.dataset.tries >= MOST_TRIES) {
        step(box);
        if (question.examples > 1) offer(box);
      }
    } else return;
    const detail = { id: box.dataset.question, right: status === "right", helped, place };
    box.dispatchEvent(new CustomEvent("attncourse-answered", { bubbles: true, detail }));
  }

  async function another(box) {
    const { question } = await of(box);
    box.dataset.variant = (Number(box.dataset.variant ?? 0) + 1) % question.examples;
    await fill(box);
    box.querySelector("input, .lines button")?.focus();
  }

  async function fill(box) {
    const { variant } = await of(box);
    box.innerHTML = variant.body;
    delete box.dataset.tries;
    delete box.dataset.status;
    show(box);
  }

  // a box for a question on another page than its own
  async function box(id, file, variant) {
    const made = document.createElement("div");
    Object.assign(made, { className: "question", role: "group", ariaLabel: "Question" });
    Object.assign(made.dataset, { question: id, script: file, variant });
    await fill(made);
    return made;
  }

  const inside = (event) => event.target.closest?.(".question");
  for (const touch of ["pointerdown", "focusin"])
    document.addEventListener(touch, (event) => inside(event) && load(inside(event).dataset.script));
  document.addEventListener("submit", (event) => {
    if (!inside(event)) return;
    event.preventDefault();
    judge(inside(event));
  });
  // what was said is of another answer; what helps to find one stays
  function altered(box) {
    if (box.dataset.status === "right" || box.querySelector("[type=radio]")) say(box, "", "");
  }

  document.addEventListener("input", (event) => inside(event) && altered(inside(event)));
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    const here = button && inside(event);
    if (!here) return;
    if ("another" in button.dataset) another(here);
    if ("step" in button.dataset) step(here);
    if ("line" in button.dataset) {
      const to = button.closest(".program") ? ".lines" : ".program";
      here.querySelector(to).append(button);
      altered(here);
      button.focus();
    }
  });
  document.querySelectorAll(".question").forEach(show);
  globalThis.attncourseQuestion = { box, load };
})();
