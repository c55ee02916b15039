({ n, lines, heights, names }, { method, "query at": i, "key at": j }, { formatNumber }) => {
  const signed = (x) => `${x}`.replace("-", "−");
  const on = (m) => (m === method ? " on" : "");
  const offset = j - i, at = n - 1 + offset, line = lines[method];
  const x = `${+((100 * at) / (2 * n - 2)).toFixed(2)}%`;
  const marks = (one) => [...Array(n).keys()].map((t) => t + n - 1 - i)
    .map((t) => `M${t} ${one[t]}h0`).join("");

  // the range of offsets around the chosen one with the same score
  const alike = (t) => Math.abs(line[t] - line[at]) < 1e-5;
  let [first, last] = [at, at];
  while (alike(first - 1)) first--;
  while (alike(last + 1)) last++;
  const same = first < last ? `, the same from offset ${signed(first - n + 1)} to ${signed(last - n + 1)}` : "";
  const pairs = n - Math.abs(offset);
  return {
    curve: lines.map((_, m) => ({ class: `line${m}${on(m)}` })),
    mark: heights.map((one, m) => ({ class: `line${m} mark${on(m)}`, d: marks(one) })),
    dot: heights.map((one, m) => ({ cx: x, cy: `${+(100 * one[at]).toFixed(2)}%`, r: on(m) ? 7 : 4 })),
    cursor: { x1: x, x2: x },
    offset: signed(offset),
    score: lines.map((one) => one[at]),
    said: `Query at ${i}, key at ${j}: the offset is ${signed(offset)}, as it is for ${pairs} of the ${n * n} pairs. ${names[method]}: ${formatNumber(line[at])}${same}.`,
  };
}
