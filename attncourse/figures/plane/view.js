({ words, axes, matrices, unit, radius, reach }, state, { formatNumber, most, arrow: made }) => {
  const { query, temperature } = state;
  const separate = state["query and key"];
  const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);
  const times = (row, matrix) => matrix[0].map((_, c) => sum(row.map((one, r) => one * matrix[r][c])));
  const x = words.map((_, i) => [state[`x${i}`], state[`y${i}`]]);
  const [queries, keys, values] = matrices.map((matrix) => (separate ? x.map((row) => times(row, matrix)) : x));
  const q = queries[query];

  const dot = keys.map((key) => sum(key.map((one, c) => one * q[c])));
  const score = dot.map((one) => one / (Math.SQRT2 * temperature));
  const largest = Math.max(...score);
  const exps = score.map((one) => Math.exp(one - largest));
  const weight = exps.map((one) => one / sum(exps));
  const part = values.map((value, j) => value.map((one) => weight[j] * one));
  const places = part.reduce((path, [a, b]) => [...path, [path.at(-1)[0] + a, path.at(-1)[1] + b]], [[0, 0]]);
  const output = places.at(-1);

  const at = ([a, b]) => [unit * a, -unit * b];
  const { point, line, arrow } = made;
  const from = (make, tail, tip) => make(at(tail), at(tip));
  const ZERO = [0, 0];
  const long = Math.hypot(...q);
  const ends = [-10, 10].map((far) => q.map((one) => (far * one) / long));
  const feet = dot.map((one) => q.map((a) => (long ? (one / long ** 2) * a : 0)));
  const [right, up] = at(output);
  // a name stands right of its point and above, but where it would be cut off
  const named = ([a, b], gap) => {
    const [beside, above] = [a < reach[1] - 0.7, b < reach[1] - 0.3];
    return { x: beside ? gap : -gap, y: above ? -8 : 20, "text-anchor": beside ? "start" : "end" };
  };
  const name = named(output, 10);
  const [top, where] = most(weight, words);
  return {
    along: { d: long ? from(line, ...ends) : "" },
    foot: keys.map((key, j) => ({ d: long ? from(line, key, feet[j]) : "" })),
    disc: keys.map((key, j) => {
      const [cx, cy] = at(key);
      return { cx: cx.toFixed(1), cy: cy.toFixed(1), r: (radius * Math.sqrt(weight[j])).toFixed(1) };
    }),
    made: [...keys.map((key, j) => ({ d: separate ? from(line, x[j], key) : "" })), { d: separate ? from(line, x[query], q) : "" }],
    key: keys.map((key) => ({ d: from(arrow, ZERO, key) })),
    ask: { d: from(arrow, ZERO, q) },
    word: x.map(([a, b]) => ({
      transform: `translate(${point(at([a, b]))})`,
      "aria-valuenow": a,
      "aria-valuetext": `${axes[0]} ${formatNumber(a)}, ${axes[1]} ${formatNumber(b)}`,
    })),
    label: x.map((one) => named(one, 8)),
    value: values.map((value) => ({ d: from(arrow, ZERO, value) })),
    share: part.map((_, j) => ({ d: from(arrow, places[j], places[j + 1]) })),
    end: { cx: right.toFixed(1), cy: up.toFixed(1) },
    name: { ...name, x: (right + name.x).toFixed(1), y: (up + name.y).toFixed(1) },
    ...{ dot, score, weight, part, output, given: weight },
    said: `The query “${words[query]}” gives its largest weight, ${top}, to ${where}. The output has ${output.map((one, c) => `${formatNumber(one)} ${axes[c]}`).join(" and ")}.`,
    // for the script that moves the words
    drawing: () => ({ unit, reach }),
  };
}
