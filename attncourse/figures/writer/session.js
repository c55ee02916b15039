// What the model makes of a text, kept, so that a change computes only what it changes.
(held, unsaid, model, pieces) => {
  const net = model(held);
  const cut = pieces(held.pairs);
  // before a text stand the start and its decade; the token between means any, which no text of the
  // training had
  const PREFIX = 2;
  const most = net.longest - PREFIX;
  const prefix = (decade) => [cut.count, cut.count + 2 + held.decades.indexOf(decade)];

  // a text that was drawn is its tokens, which need not be those that a typed one is cut into
  const drawn = new Map();
  const join = (tokens) => {
    const text = cut.decode(tokens);
    drawn.set(text, tokens);
    if (drawn.size > 1000) drawn.delete(drawn.keys().next().value);
    return text;
  };
  const QUOTES = { "“": `"`, "”": `"`, "‘": `'`, "’": `'` };
  // a blank at the end belongs to the next word
  const tokensOf = (text) =>
    drawn.get(text) ?? cut.encode(text.replace(/[“”‘’]/g, (one) => QUOTES[one]).replace(/\x20+$/, ""));

  const same = (some, others) => some.size === others.size && [...some].every((one) => others.has(one));
  // as far as two texts agree, and what is hidden in them, the one need not be read again
  const agree = (run, tokens, hidden) => {
    let length = 0;
    while (length < tokens.length && run.tokens[length] === tokens[length]) length++;
    const apart = [...run.hidden, ...hidden].filter((key) => run.hidden.has(key) !== hidden.has(key));
    length = Math.min(length, ...apart.map((key) => key + 1));
    return length === run.length ? length : Math.min(length, tokens.length - 1);
  };
  let runs = [];
  const runOf = ({ decade, tokens, hidden = [], off = [] }) => {
    const [whole, keys, heads] = [[...prefix(decade), ...tokens], new Set(hidden), new Set(off)];
    const found = runs
      .filter((run) => same(run.off, heads))
      .map((run) => ({ run, length: agree(run, whole, keys) }))
      .sort((a, b) => b.length - a.length)[0];
    let run = found?.run;
    if (!found || found.length < run.length || found.length < whole.length) {
      run = found ? net.fork(run, found.length, keys) : net.begin(keys, heads);
      net.read(run, whole.slice(run.length));
    } else run.hidden = keys;
    runs = [run, ...runs.filter((one) => one !== run)].slice(0, 8);
    return run;
  };

  const chances = (run) => {
    if (run.chances) return run.chances;
    const scores = net.scores(run);
    const top = scores.reduce((a, b) => Math.max(a, b));
    const parts = scores.map((score) => Math.exp(score - top));
    const sum = parts.reduce((a, b) => a + b, 0);
    return (run.chances = parts.map((part) => part / sum));
  };
  const likeliest = (p) => {
    let top = 0;
    for (let i = 1; i < p.length; i++) if (p[i] > p[top]) top = i;
    return top;
  };
  // only text may be written: no start, no decade
  const candidates = (run, count) => {
    const left = chances(run).slice(0, cut.count);
    return Array.from({ length: count }, () => {
      const token = likeliest(left);
      left[token] = -1;
      return token;
    });
  };

  // a token with which the text would end in a word that is not to be printed
  const words = new RegExp(`(^|[^\\p{L}])(${unsaid.join("|")})(?!\\p{L})`, "giu");
  const refused = (tokens, token) => {
    const tail = tokens.slice(-12);
    const [before, after] = [tail, [...tail, token]].map((some) => cut.decode(some).length);
    if (after === before) return false;
    const text = cut.decode([...tail, token]);
    return [...text.matchAll(words)].some((found) => found.index + found[0].length > before);
  };
  const textOf = (run) => run.tokens.slice(PREFIX);

  // how a word that a token begins would most likely end
  const ending = (run, token) => {
    const [ahead, found] = [net.fork(run), [token]];
    while (found.length < 6 && ahead.length < net.longest - 1) {
      const text = cut.decode(found);
      if (!/[\p{L}-]$/u.test(text)) break;
      net.read(ahead, found.slice(-1));
      const next = likeliest(net.scores(ahead));
      if (next >= cut.count || !/^\p{L}/u.test(cut.decode([next])) || refused(textOf(ahead), next)) break;
      found.push(next);
    }
    return found.slice(1);
  };
  // the likeliest tokens, each with the likeliest end of its word
  const best = (run, count, whole) => {
    run.best ??= [];
    if (run.best.length && (run.best.whole || !whole)) return run.best;
    const shown = candidates(run, 4 * count).filter((token) => !refused(textOf(run), token)).slice(0, count);
    run.best = shown.map((token) => {
      const rest = whole ? ending(run, token) : [];
      const begun = cut.goesOn(textOf(run).at(-1), token) ? "…" : "";
      return { tokens: [token, ...rest], text: begun + cut.decode([token]), rest: cut.decode(rest), p: run.chances[token] };
    });
    run.best.whole = whole;
    return run.best;
  };
  // a token by its chance; where it is refused, another one by those that are left
  const draw = (run, random) => {
    const p = Float64Array.from(chances(run).subarray(0, cut.count));
    let passed = 0;
    for (;;) {
      let left = random() * p.reduce((a, b) => a + b, 0);
      let token = p.findIndex((one) => (left -= one) < 0);
      if (token < 0) token = likeliest(p);
      if (!refused(textOf(run), token)) return { token, passed };
      p[token] = 0;
      passed++;
    }
  };

  // in bits: how much better p says what p itself expects
  const divergence = (p, q) => p.reduce((sum, one, i) => sum + (one ? one * Math.log2(one / q[i]) : 0), 0);
  // what is seen of a text can be covered: its decade, then each word
  const items = (tokens) => {
    const starts = cut.words(tokens);
    const spans = starts.map((from, i) => [from, starts[i + 1] ?? tokens.length]);
    const places = spans.map(([from, to]) => Array.from({ length: to - from }, (_, i) => PREFIX + from + i));
    const partsOf = ([from, to]) => tokens.slice(from, to).map((token) => cut.decode([token]));
    const words = spans.map((span, i) => ({ text: cut.decode(tokens.slice(...span)), places: places[i], parts: partsOf(span) }));
    return [{ text: "", places: [1], parts: [""] }, ...words];
  };
  const hiddenBy = (all, covered) => covered.flatMap((item) => all[item]?.places ?? []);
  const changed = (now, before) => divergence(chances(runOf(before)), chances(runOf(now)));

  // what it would change to cover each item, or to uncover it: those measured so far
  const measured = new Map();
  const marks = (of) => {
    const name = JSON.stringify([of.decade, of.tokens, of.covered, of.off]);
    if (!measured.has(name)) measured.set(name, { bits: [], of });
    if (measured.size > 20) measured.delete(measured.keys().next().value);
    return measured.get(name);
  };
  // the next of them, the last words first; false when all are there
  const measure = ({ bits, of }) => {
    const all = items(of.tokens);
    let item = all.length - 1;
    while (item >= 0 && bits[item] !== undefined) item--;
    if (item < 0) return false;
    const other = of.covered.includes(item) ? of.covered.filter((one) => one !== item) : [...of.covered, item];
    const base = runOf({ ...of, hidden: hiddenBy(all, of.covered) });
    const hidden = new Set(hiddenBy(all, other));
    const from = Math.min(all[item].places[0] + 1, base.length - 1);
    const ahead = net.fork(base, from, hidden);
    net.read(ahead, base.tokens.slice(from));
    bits[item] = divergence(chances(base), chances(ahead));
    return true;
  };

  // where a head looks from a place, or all of them on average: at the start, then at each token
  const looks = (run, place, head) => {
    const [row, n] = [run.weights[place], place + 1];
    const count = row.length / n;
    return Array.from({ length: n }, (_, key) => {
      if (head >= 0) return row[head * n + key];
      let sum = 0;
      for (let h = 0; h < count; h++) sum += row[h * n + key] / count;
      return sum;
    });
  };
  // in bits: what a text says, token by token, after others
  const cost = (decade, before, tokens) => {
    let bits = 0;
    tokens.forEach((token, i) => {
      bits -= Math.log2(chances(runOf({ decade, tokens: [...before, ...tokens.slice(0, i)] }))[token]);
    });
    return bits;
  };
  return { most, cut, join, tokensOf, items, hiddenBy, runOf, chances, best, draw, refused, changed, marks, measure, looks, cost };
}
