({ q, k, v, masks, queries, keys }, { query, mask, d_k, scale, temperature }, { formatNumber, most }) => {
  const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
  const open = masks[mask][query];
  const divisor = (scale ? Math.sqrt(d_k) : 1) * temperature;

  const dot = k.map((key) => sum(key.slice(0, d_k).map((x, c) => x * q[query][c])));
  const score = dot.map((x, j) => (open[j] ? x / divisor : -Infinity));
  const largest = Math.max(...score);
  const exps = score.map((x, j) => (open[j] ? Math.exp(x - largest) : 0));
  const weight = exps.map((x) => x / (sum(exps) || 1));
  const part = v.map((value, j) => value.map((x) => weight[j] * x));
  const output = v[0].map((_, c) => sum(part.map((row) => row[c])));

  const factors = [scale && `√${d_k}`, temperature !== 1 && temperature].filter(Boolean);
  const [top, where] = most(weight, keys);
  const said = sum(open) ? `gives its largest weight, ${top}, to ${where}` : "may attend to no key";
  return {
    ...{ dot, score, weight, part, output, total: sum(weight) },
    // a line may break after the dot only
    divisor: factors.length > 1 ? `(${factors.join("\u00a0· ")})` : `${factors[0] ?? 1}`,
    said: `Query ${queries[query]} ${said}. Its output is ${output.map(formatNumber).join(", ")}.`,
  };
}
