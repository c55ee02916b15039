({ n }, { direction, step }) => {
  const range = (length) => [...Array(length).keys()];
  const signed = (offset) => `${offset}`.replace("-", "−");
  const causal = direction === 1;
  const offsets = range(causal ? n : 2 * n - 1).map((c) => c - n + 1);
  const width = offsets.length;

  const table = range(n).map((i) => offsets.map((o) => ({ text: signed(o), value: (i + 1) / n })));
  const padded = table.map((row) => [{ text: "pad", value: 0 }, ...row]);
  const rest = padded.flat().slice(n);
  const reshaped = range(n).map((r) => rest.slice(r * width, (r + 1) * width));
  const zero = { text: "·", value: 0 };
  const cut = reshaped.map((row, i) => (
    causal ? row.map((entry, j) => (j > i ? zero : entry)) : row.slice(0, n)
  ));

  const now = [table, padded, reshaped, cut][step];
  const said = [
    `A row for each query, a column for each offset j − i, from ${offsets.map(signed).at(0)} to ${offsets.at(-1)}.`,
    "One more entry in front of each row.",
    `The first ${n} entries are gone. The others, in the same order, are again ${width} to a row: each row starts one entry earlier in its query than the row above.`,
    causal
      ? "The offset of row i, column j is j − i. A dot is a 0: what stood there was of another query."
      : `The first ${n} columns: the offset of row i, column j is j − i.`,
  ][step];
  const names = range(2 * n).map((c) => (c < now[0].length ? `${c}` : ""));
  return {
    entry: range(n).map((r) => range(2 * n).map((c) => now[r][c] ?? { text: "", value: 0 })),
    column: names,
    line: range(n).map((r) => `${step === 2 ? "row" : "query"} ${r}`),
    corner: step === 3 ? "key" : "column",
    said,
  };
}
