({ phiQ, phiK: keys, v: values, words: given, orders }, { token: place, chunk, shuffle }, { formatNumber }) => {
  const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
  const dot = (x, y) => sum(x.map((one, i) => one * y[i]));
  const until = (end, start = 0) => [...given.keys()].slice(start, end);
  const token = place - 1;

  // only the tokens before the chosen one are shuffled
  const before = orders[shuffle % orders.length].filter((j) => j < token);
  const order = [...before, ...until(given.length, token)];
  const [queries, phiK, v, words] = [phiQ, keys, values, given].map((all) => order.map((j) => all[j]));
  const query = queries[token];

  // the state of some tokens, and its numerator and denominator for the query
  const state = (tokens) => ({
    S: phiK[0].map((_, i) => v[0].map((_, c) => sum(tokens.map((j) => phiK[j][i] * v[j][c])))),
    z: phiK[0].map((_, i) => sum(tokens.map((j) => phiK[j][i]))),
  });
  const beside = ({ S, z }) => z.map((x, i) => [x, ...S[i]]);
  const read = ({ S, z }) => [v[0].map((_, c) => dot(query, S.map((row) => row[c]))), dot(query, z)];
  const pairs = (tokens) => {
    const weights = tokens.map((j) => dot(query, phiK[j]));
    return [v[0].map((_, c) => dot(weights, tokens.map((j) => v[j][c]))), sum(weights)];
  };
  const divided = ([sums, total]) => sums.map((x) => x / total);

  const now = state(until(token + 1));
  const start = token - (token % chunk);
  const past = state(until(start));
  const [early, late] = [read(past), pairs(until(token + 1, start))];
  const both = [early[0].map((x, c) => x + late[0][c]), early[1] + late[1]];
  const all = [pairs(until(token + 1)), read(now), both];

  // each query's normalized weights on the keys of its own chunk of length `piece`
  const matrix = (piece) => queries.map((one, i) => words.map((_, j) => {
    const [row, column] = [i, j].map((x) => Math.floor(x / piece));
    const kind = row === column ? (j > i ? "masked" : "pair") : j > i ? "none" : "state";
    const value = kind === "pair" ? dot(one, phiK[j]) / dot(one, state(until(i + 1)).z) : 0;
    return { text: "", class: `heat ${kind}`, value };
  }));
  const added = (j) => beside(state([j])).flat().map((x) => ({ text: "", value: j > token ? 0 : x }));

  const nothing = { text: "", value: 0 };
  const so = (rows) => rows.map((row, j) => row.map((x) => (j > token ? { text: "", value: x } : x)));
  const weights = words.map((_, j) => dot(query, phiK[j]));
  const many = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
  const way = words.map((_, j) => (j > token ? "" : j < start ? "state" : "pair"));
  const at = (j) => (j === token ? " now" : "") + (j % chunk === 0 ? " cut" : "");
  const moved = before.some((j, place) => j !== place);
  return {
    read: words.map((text, j) => ({ text, class: (way[j] || "later") + at(j) })),
    above: [...words, ...words],
    cell: matrix(words.length).flat(),
    part: words.flatMap((_, j) => added(j)),
    block: matrix(chunk).flat(),
    word: words,
    key: so(phiK),
    value: so(v),
    weight: weights.map((x, j) => (j > token ? nothing : { text: formatNumber(x), value: x / all[0][1] })),
    way,
    S: now.S,
    z: now.z,
    early: beside(past),
    masked: divided(all[0]),
    recurrent: divided(all[1]),
    chunks: divided(all[2]),
    total: all.map(([, total]) => total),
    said: `Token ${token + 1}, ${words[token]}${moved ? ", with the tokens before it shuffled" : ""}. The masked form adds up ${many(token + 1, "pair")}; the recurrent one reads a state of ${phiK[0].length * (v[0].length + 1)} numbers; the chunked one takes ${many(start, "token")} from the state and ${many(token + 1 - start, "pair")}. All three give ${divided(both).map(formatNumber).join(", ")}.`,
  };
}
