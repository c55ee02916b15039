(held, state, { formatNumber, session, model, pieces }) => {
  const { columns, heads, ways, last, all } = held;
  const weights = window.attncourseEnglish;
  if (weights) held.session ??= session(weights, held.unsaid, model, pieces);
  const now = held.session;
  const { text, block, kept, written } = state;
  const way = ways[kept];
  const range = (count) => Array.from({ length: count }, (_, i) => i);

  const said = (step) => {
    const { names, fresh, next } = step;
    const n = names.length, many = held.blocks * heads;
    const likeliest = `The likeliest next token is “${next[0].name}” (${formatNumber(next[0].p)}).`;
    if (written === 0)
      return `Reading the prompt is one step (prefill): ${n} tokens go through the model at once, and each of its ${many} heads keeps ${n} keys and ${n} values. ${likeliest}`;
    const room = n < columns ? "" : " The picture has no room for more.";
    return `“${names[n - 1]}” is written, and reading it is one step (decode): ${fresh} token goes through the model, and each of its ${many} heads keeps one more key and value. The token’s queries read those of all ${n} tokens. ${likeliest}${room}`;
  };
  const show = (token) => {
    const word = now.tokenizer.decode([token]);
    return word.trim() || (word.includes("\n") ? "¶" : "␣");
  };
  // the prompt, as within a text, where a space stands before each word
  const typed = now && text.trim() ? now.tokensOf(` ${text.trim()}`) : [];
  // the steps so far; each one goes on from the cache of the one before
  const stepOf = () => {
    const prompt = typed.slice(0, held.most);
    if (held.steps?.prompt !== prompt.join()) held.steps = Object.assign([], { prompt: prompt.join() });
    while (held.steps.length <= written) {
      const before = held.steps.at(-1);
      const tokens = before ? [...before.tokens, before.next[0].token] : prompt;
      const run = now.runOf({ decade: held.decade, tokens });
      const next = now.best(run, held.next, false).map(({ tokens: [token], p }) => ({ token, p, name: show(token) }));
      const names = ["start", `${held.decade}s`, ...tokens.map(show)];
      held.steps.push({ tokens, run, next, names, fresh: before ? 1 : names.length });
    }
    return held.steps[written];
  };
  // strips of numbers as masks, a pixel for each; strips.py draws the same
  const masks = (numbers, from, n, scale) => {
    const d = now.net.width / heads;
    const mask = (sign) => {
      const canvas = Object.assign(document.createElement("canvas"), { width: n, height: d });
      const context = canvas.getContext("2d");
      const picture = context.createImageData(n, d);
      for (let t = 0; t < n; t++)
        for (let i = 0; i < d; i++)
          picture.data[4 * (i * n + t) + 3] = 255 * Math.min(Math.max((sign * numbers[t * now.net.width + from + i]) / scale, 0), 1);
      context.putImageData(picture, 0, 0);
      return canvas.toDataURL();
    };
    return { style: `--above:url(${mask(1)});--below:url(${mask(-1)})` };
  };
  // the numbers of the chosen block
  const drawn = ({ run, names }) => {
    const n = names.length, { width } = now.net;
    const row = (h) => run.weights[n - 1].subarray((block * heads + h) * n, (block * heads + h + 1) * n);
    const strips = (kind) => range(heads).map((h) => masks(run.kept[block][kind], (h * width) / heads, n, held.scales[block][kind]));
    return {
      weight: range(heads).flatMap((h) => range(columns).map((i) => ({ value: row(h)[i] ?? 0 }))),
      key: strips(0),
      value: strips(1),
    };
  };
  const counts = ({ names, fresh }) => {
    const n = names.length;
    const products = [fresh === 1 ? last[n] : all[n], all[n]];
    return {
      tokens: [fresh, n].map((count) => ({ text: `${count}`, value: count / columns })),
      products: products.map((x) => ({ text: `${formatNumber(x / 1e6)} million`, value: x / all[columns] })),
    };
  };
  const cache = ({ names, fresh }) => {
    const n = names.length;
    return {
      sheet: { class: "sheet" },
      board: {
        "data-kept": kept,
        style: `--n:${n};--fresh:${fresh};--dropped:${way.dropped[n]}`,
        "aria-label": `Keys and values of ${n} tokens in the heads of block ${block}, ${fresh} of them new.`,
      },
      word: range(columns).map((i) => ({ text: names[i] ?? "", class: i < n && i >= n - fresh ? "new" : "" })),
      size: { text: way.sizes[n], value: way.shares[n] },
      says: way.says,
    };
  };

  const room = typed.length > held.most ? `Your prompt has ${typed.length} tokens. The figure reads the first ${held.most}.` : `at most ${held.most} tokens`;
  const disabled = (write, empty) => ({ "write a token": write, empty });
  if (written < 0) {
    held.emptied = true;
    const nothing = { names: [], fresh: 0 };
    const none = { text: "0", value: 0 };
    return {
      ...cache(nothing),
      room,
      weight: range(columns * heads).map(() => ({ value: 0 })),
      tokens: [none, none],
      products: [none, none],
      name: range(held.next).map(() => ""),
      share: range(held.next).map(() => ({ text: "", value: 0 })),
      disabled: disabled(true, true),
      said: "The cache is empty. Read the prompt to fill it.",
    };
  }
  if (!now) {
    const first = text === held.text && written === 0 && block === 0 && !held.emptied;
    if (first) return { ...cache({ names: held.names, fresh: held.names.length }), said: held.said };
    return { sheet: { class: "sheet wait" }, disabled: disabled(false, false), said: weights === null ? "The model couldn’t be loaded." : "The model is loading." };
  }
  const step = stepOf();
  return {
    ...cache(step),
    ...drawn(step),
    ...counts(step),
    room,
    name: step.next.map(({ name }) => name),
    share: step.next.map(({ p }) => p),
    disabled: disabled(step.names.length === columns, false),
    said: said(step),
  };
}
