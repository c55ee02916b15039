({ n }, { direction, step }) => {
  const range = (length) => [...Array(length).keys()];
  const rows = (flat, width) =>
    range(Math.ceil(flat.length / width)).map((r) => flat.slice(r * width, (r + 1) * width));
  const signed = (offset) => `${offset}`.replace("-", "−");
  const pad = { text: "pad", value: 0 };
  const entries = (offsets) => range(n).map((i) => offsets.map((offset) => (
    { text: signed(offset), value: (i + 1) / n, query: i, offset }
  )));

  // both: n x (2n - 1) entries; causal: n x n, no offset above 0
  const causal = direction === 1;
  const table = entries(range(causal ? n : 2 * n - 1).map((c) => c - n + 1));
  const padded = table.map((row) => (causal ? [pad, ...row] : [...row, pad]));
  const flat = padded.flat();
  const reshaped = causal
    ? rows(flat, n)
    : rows([...flat, ...Array(n - 1).fill(pad)], 2 * n - 1);
  const left = causal ? reshaped.slice(1) : reshaped.slice(0, n).map((row) => row.slice(n - 1));
  const cut = left.map((row, i) => row.map((entry, j) => (
    entry.query === i && entry.offset === j - i ? entry : { ...entry, text: `(${entry.text})` }
  )));

  const shownNow = [table, padded, reshaped, cut][step];
  const empty = { text: "", value: 0 };
  const width = shownNow[0].length;
  const queries = step !== 2;
  const said = [
    `A row for each query, a column for each offset j − i, from ${signed(1 - n)} to ${causal ? 0 : n - 1}.`,
    `One column of padding, on the ${causal ? "left" : "right"}.`,
    `The same entries in the same order, now ${width} to a row${causal ? "" : ` after ${n - 1} more paddings at the end`}: each query starts one place further right than the one before.`,
    causal
      ? "Without the first row. On and below the diagonal column j holds the offset j − i; what stands in brackets is left over, and the causal mask hides it."
      : `The first ${n} rows, from column ${n - 1} on: column j holds the offset j − i.`,
  ][step];
  return {
    entry: range(n + 1).map((r) => range(2 * n).map((c) => shownNow[r]?.[c] ?? empty)),
    column: range(2 * n).map((c) => (c < width ? `${c}` : "")),
    line: range(n + 1).map((r) => (r < shownNow.length ? `${queries ? "query" : "row"} ${r}` : "")),
    corner: step === 3 ? "key" : "column",
    said,
  };
}
