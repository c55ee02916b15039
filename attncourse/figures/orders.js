({ lengths, widths, costs, most }, { n, d }, { formatNumber }) => {
  const words = (x) => x.toLocaleString("en-GB");
  const [first, second] = costs.map((rows) => rows[widths.indexOf(d)][lengths.indexOf(n)]);
  const ratio = Math.max(first, second) / Math.min(first, second);
  const more = first > second ? "queries and keys" : "keys and values";
  return {
    scale: { style: `--n:${n};--d:${d};--most:${most}` },
    size: [n, d].map((side) => ({ text: `${side} × ${side}`, value: side })),
    area: [n, d].map((side) => ({ text: words(side * side), value: side * side })),
    cost: [first, second].map((x) => ({ text: words(x), value: x / Math.max(first, second) })),
    said: `n = ${n}, d = ${d}: the matrix in between has ${words(n * n)} numbers in one order, ${words(d * d)} in the other. Multiplying ${more} first takes ${formatNumber(ratio)} times as many operations.`,
  };
}
