// The guessing game: the surprisal of the next word, in bits, for the reader and for the model.
(() => {
  const POINTS = 100;
  const normalized = (word) => word.trim().toLowerCase();
  // surprisal of the true word: from its points, or from its share of the points left for other words
  const bits = (deals, word, commonness) => {
    const found = deals.filter(({ guess }) => normalized(guess) === normalized(word));
    const sum = (some, of) => some.reduce((total, one) => total + of(one), 0);
    const points = sum(found, (one) => one.points);
    if (points) return -Math.log2(points / POINTS);
    const left = POINTS - sum(deals, (one) => one.points);
    const guessed = sum(deals, ({ guess }) => commonness(guess));
    return -Math.log2((left / POINTS) * (commonness(word) / (1 - guessed)));
  };

  // probability of a word: the mean of the uniform one, since a rare word has many tokens, and of the
  // product of its tokens' unigram probabilities
  const WORDS = 28000;
  const common = (unigram, encode) => {
    const total = unigram.reduce((sum, count) => sum + count + 1, 0);
    const unigramProbability = (word) => encode(` ${word.trim()}`).reduce((p, token) => (p * (unigram[token] + 1)) / total, 1);
    return (word) => (unigramProbability(word) + 1 / WORDS) / 2;
  };

  const play = (form, formatNumber, current) => {
    const box = form.querySelector(".guess");
    const GIVEN = 6;
    const ROUND = 10;
    let [game, which] = [null, 0];
    const put = (name, text) => {
      box.querySelector(`[data-show="${name}"]`).textContent = text;
    };
    const field = (name, i) => form.elements[`${name} ${i}`];
    const deals = () => [1, 2, 3].map((i) => ({ guess: field("guess", i).value, points: Math.max(0, Math.floor(Number(field("points", i).value) || 0)) }))
      .filter(({ guess, points }) => guess.trim() && points);
    const left = () => POINTS - deals().reduce((sum, { points }) => sum + points, 0);
    const isWord = (text) => /[\p{L}\p{N}]/u.test(text);

    const begin = (now) => {
      const { excerpts } = window.attncourseEnglish;
      const { year, text } = excerpts[which++ % excerpts.length];
      const tokens = now.tokenizer.encode(text);
      const starts = [...now.tokenizer.words(tokens), tokens.length];
      const words = starts.slice(0, -1).map((from, i) => ({ from, to: starts[i + 1], text: now.tokenizer.decode(tokens.slice(from, starts[i + 1])) }));
      const places = words.flatMap((word, i) => (isWord(word.text) ? [i] : []));
      game = { year, tokens, words, at: places[GIVEN], open: false, you: [], model: [] };
    };
    const passage = () => {
      const { words, at, open } = game;
      return words.slice(0, open ? at + 1 : at).map(({ text }) => text).join("") + (open ? "" : " ____");
    };
    const ask = () => {
      put("passage", `${game.year}: “${passage()}”`);
      put("left", `${left()}`);
    };
    const open = (now) => {
      if (left() < 1) return put("verdict", `You’ve dealt ${POINTS - left()} points: keep at least 1 of the 100 for any other word.`);
      const { unigram } = window.attncourseEnglish;
      const { words, at, tokens, year } = game;
      const { from, to, text } = words[at];
      const decade = Math.floor(year / 10) * 10;
      const before = tokens.slice(0, from);
      const yours = bits(deals(), text, common(unigram, now.tokenizer.encode));
      const its = now.cost(decade, before, tokens.slice(from, to));
      const expected = now.best(now.runOf({ decade, tokens: before }), 6, true).filter(({ text: word, rest }) => `${word}${rest}`.trim()).slice(0, 3);
      game.you.push(yours);
      game.model.push(its);
      game.open = true;
      const [you, model] = [game.you, game.model].map((all) => formatNumber(all.reduce((a, b) => a + b, 0)));
      const whole = game.you.length >= ROUND ? `After ${game.you.length} words, you’ve paid ${you} bits and the model ${model}.` : `After ${game.you.length} of ${ROUND} words, you’ve paid ${you} bits and the model ${model}.`;
      put("passage", `${year}: “${passage()}”`);
      put("verdict", `The word is “${text.trim()}”. It costs you ${formatNumber(yours)} bits and the model ${formatNumber(its)}. The model had expected ${expected.map(({ text: word, rest, p }) => `“${word.trim()}${rest}” ${formatNumber(p)}`).join(", ")}. ${whole}`);
      box.querySelector("[data-do=open]").textContent = "next word";
      return null;
    };
    const next = () => {
      const { words, at } = game;
      const after = words.findIndex(({ text }, i) => i > at && isWord(text));
      for (const i of [1, 2, 3]) [field("guess", i).value, field("points", i).value] = ["", ""];
      box.querySelector("[data-do=open]").textContent = "show the word";
      put("verdict", "");
      if (after < 0) return false;
      Object.assign(game, { at: after, open: false });
      ask();
      field("guess", 1).focus();
      return true;
    };
    const another = (now) => {
      const kept = game && { you: game.you, model: game.model };
      begin(now);
      if (kept && kept.you.length < ROUND) Object.assign(game, kept);
      ask();
    };
    box.addEventListener("input", () => game && ask());
    box.addEventListener("click", ({ target }) => {
      const now = current().now?.();
      if (!now || target.dataset.do !== "open" && target.dataset.do !== "another") return;
      if (target.dataset.do === "another") another(now);
      else if (game.open) next() || another(now);
      else open(now);
    });
    const ready = () => {
      const now = current().now?.();
      if (now && !game && window.attncourseEnglish.excerpts) another(now);
    };
    return { ready };
  };
  return { bits, common, play };
})()
