// A session with the model, whose runs are cached, so that a change computes only what it affects.
(held, unsaid, model, pieces) => {
  const net = model(held);
  const tokenizer = pieces(held.pairs);
  // the prefix is the start token and the decade's; the id between stands for any decade, and is
  // not used
  const PREFIX = 2;
  const most = net.longest - PREFIX;
  const prefix = (decade) => [tokenizer.count, tokenizer.count + 2 + held.decades.indexOf(decade)];

  // the tokens of sampled texts, which may differ from those that the tokenizer gives the same text
  const sampled = new Map();
  const join = (tokens) => {
    const text = tokenizer.decode(tokens);
    sampled.set(text, tokens);
    if (sampled.size > 1000) sampled.delete(sampled.keys().next().value);
    return text;
  };
  const QUOTES = { "“": `"`, "”": `"`, "‘": `'`, "’": `'` };
  // a trailing space would be part of the next token
  const tokensOf = (text) =>
    sampled.get(text) ?? tokenizer.encode(text.replace(/[“”‘’]/g, (one) => QUOTES[one]).replace(/\x20+$/, ""));

  const equalSets = (a, b) => a.size === b.size && [...a].every((x) => b.has(x));
  // the number of tokens of a cached run that can be reused: same tokens, same hidden keys
  const reusable = (run, tokens, hidden) => {
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
      .filter((run) => equalSets(run.off, heads))
      .map((run) => ({ run, length: reusable(run, whole, keys) }))
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
    const left = chances(run).slice(0, tokenizer.count);
    return Array.from({ length: count }, () => {
      const token = likeliest(left);
      left[token] = -1;
      return token;
    });
  };

  // whether the text would end in a forbidden word with this token
  const words = new RegExp(`(^|[^\\p{L}])(${unsaid.join("|")})(?!\\p{L})`, "giu");
  const refused = (tokens, token) => {
    const tail = tokens.slice(-12);
    const [before, after] = [tail, [...tail, token]].map((some) => tokenizer.decode(some).length);
    if (after === before) return false;
    const text = tokenizer.decode([...tail, token]);
    return [...text.matchAll(words)].some((found) => found.index + found[0].length > before);
  };
  const textOf = (run) => run.tokens.slice(PREFIX);

  // the likeliest end of the word that a token begins
  const ending = (run, token) => {
    const [ahead, found] = [net.fork(run), [token]];
    while (found.length < 6 && ahead.length < net.longest - 1) {
      const text = tokenizer.decode(found);
      if (!/[\p{L}-]$/u.test(text)) break;
      net.read(ahead, found.slice(-1));
      const next = likeliest(net.scores(ahead));
      if (next >= tokenizer.count || !/^\p{L}/u.test(tokenizer.decode([next])) || refused(textOf(ahead), next)) break;
      found.push(next);
    }
    return found.slice(1);
  };
  // the likeliest tokens, each with the likeliest end of its word
  const best = (run, count, whole) => {
    run.best ??= [];
    if (run.best.length && (run.best.whole || !whole)) return run.best;
    const likely = candidates(run, 4 * count).filter((token) => !refused(textOf(run), token)).slice(0, count);
    run.best = likely.map((token) => {
      const rest = whole ? ending(run, token) : [];
      const begun = tokenizer.goesOn(textOf(run).at(-1), token) ? "…" : "";
      return { tokens: [token, ...rest], text: begun + tokenizer.decode([token]), rest: tokenizer.decode(rest), p: run.chances[token] };
    });
    run.best.whole = whole;
    return run.best;
  };
  // sample a token; a refused one is excluded, and another is sampled
  const draw = (run, random) => {
    const p = Float64Array.from(chances(run).subarray(0, tokenizer.count));
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

  // Kullback-Leibler divergence in bits
  const divergence = (p, q) => p.reduce((sum, one, i) => sum + (one ? one * Math.log2(one / q[i]) : 0), 0);
  // the items that can be covered: the decade, then each word
  const items = (tokens) => {
    const starts = tokenizer.words(tokens);
    const spans = starts.map((from, i) => [from, starts[i + 1] ?? tokens.length]);
    const places = spans.map(([from, to]) => Array.from({ length: to - from }, (_, i) => PREFIX + from + i));
    const partsOf = ([from, to]) => tokens.slice(from, to).map((token) => tokenizer.decode([token]));
    const words = spans.map((span, i) => ({ text: tokenizer.decode(tokens.slice(...span)), places: places[i], parts: partsOf(span) }));
    return [{ text: "", places: [1], parts: [""] }, ...words];
  };
  const hiddenBy = (all, covered) => covered.flatMap((item) => all[item]?.places ?? []);
  const changed = (now, before) => divergence(chances(runOf(before)), chances(runOf(now)));

  // cache of the effects, in bits, of covering or uncovering each item, as far as measured
  const measured = new Map();
  const marks = (of) => {
    const name = JSON.stringify([of.decade, of.tokens, of.covered, of.off]);
    if (!measured.has(name)) measured.set(name, { bits: [], of });
    if (measured.size > 20) measured.delete(measured.keys().next().value);
    return measured.get(name);
  };
  // measure one more effect, from the last word on; false when all are measured
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

  // attention weights of a head from a position, or the mean of all heads: the start, then each token
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
  // surprisal of tokens after others, in bits
  const cost = (decade, before, tokens) => {
    let bits = 0;
    tokens.forEach((token, i) => {
      bits -= Math.log2(chances(runOf({ decade, tokens: [...before, ...tokens.slice(0, i)] }))[token]);
    });
    return bits;
  };
  // all that the model computes for a text, by block and name
  const traced = ({ decade, tokens }) => {
    const [run, computed] = [net.begin(), {}];
    net.read(run, [...prefix(decade), ...tokens], (name, numbers, block) => {
      computed[`${block} ${name}`] = numbers.slice();
    });
    return { tokens: run.tokens, weights: run.weights, computed };
  };
  // the likeliest tokens after a text, if its last vector were this one
  const readOff = (last, text, count) => {
    const [run, scores] = [{ last }, net.scores({ last })];
    const likely = candidates(run, 4 * count).filter((token) => !refused(text, token)).slice(0, count);
    return likely.map((token) => ({ token, score: scores[token], p: run.chances[token] }));
  };
  return { net, traced, readOff, most, tokenizer, join, tokensOf, items, hiddenBy, runOf, chances, best, draw, refused, changed, marks, measure, looks, cost };
}
