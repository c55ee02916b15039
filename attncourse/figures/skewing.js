({ n }, { direction, step }) => {
  const range = (length) => [...Array(length).keys()];
  const signed = (offset) => `${offset}`.replace("-", "−");
  const causal = direction === 1;
  const width = causal ? n : 2 * n - 1;

  // x, y and CSS class of entry c of query i; the padding is entry -1
  const place = (i, c) => {
    if (c >= width) return [c + 1, i, " off"];
    if (step === 0) return [c, i, c < 0 ? " off" : ""];
    const at = (width + 1) * i + c + 1 - n;
    if (at < 0 && step > 1) return [c + 1, -1, step === 2 ? " out" : " off"];
    if (step < 3) return [c + 1, i, ""];
    const [x, y] = [at % width, Math.floor(at / width)];
    if (step === 3 || x <= (causal ? y : n - 1)) return [x, y, ""];
    return [x + 0.5 + (causal ? n - 1 : 0), y, " out"];
  };
  const queries = range(n);
  const cells = [
    ...queries.flatMap((i) => range(2 * n - 1).map((c) => [signed(c - n + 1), (i + 1) / n, ...place(i, c)])),
    ...queries.map((i) => ["pad", 0, ...place(i, -1)]),
    ...queries.flatMap((i) => range(n).slice(i + 1).map((j) => ["•", 0, j, i, causal && step === 4 ? "" : " off"])),
  ];
  const row = (i) => cells.filter(([, , , y, look]) => y === i && !look)
    .sort((one, other) => one[2] - other[2]).map(([text]) => text.replace("•", "zero")).join(", ");

  const said = [
    `Each query has a row, and each offset j − i from ${signed(1 - n)} to ${width - n} has a column.`,
    "Put one more entry in front of each row.",
    `Written row after row, the entries form one line. Drop the first ${n} entries.`,
    `Cut the same line into rows of ${width}: each row now starts one entry earlier in its query than the row above.`,
    causal
      ? "Row i, column j now has the offset j − i. Each dot is a 0 in place of padding or of another query’s entry."
      : `Keep the first ${n} columns: row i, column j now has the offset j − i.`,
  ][step];
  const columns = [width, width + 1, 0, width, n][step];
  return {
    entry: cells.map(([, share, x, y, look]) => (
      { class: `entry${look}`, style: `--share:${+share.toPrecision(6)};--x:${x};--y:${y}` }
    )),
    board: { "aria-label": queries.map((i) => `Row ${i}: ${row(i)}.`).join(" ") },
    column: range(2 * n).map((c) => (c < columns ? `${c}` : "")),
    line: queries.map((i) => `${step === 3 ? "row" : "query"} ${i}`),
    corner: ["column", "column", "dropped", "column", "key"][step],
    said,
  };
}
