({ most }, { n, k }) => {
  const every = [...Array(most).keys()];
  const clip = (offset) => Math.max(-k, Math.min(offset, k));
  const row = every.map((i) => every.map((j) => {
    if (i >= n || j >= n) return { text: "", value: 0 };
    return { text: `${clip(j - i) + k}`, value: (clip(j - i) + k) / (2 * k || 1) };
  }));

  const first = k - Math.min(k, n - 1), last = 2 * k - first;
  // number of pairs whose offset is k or more
  const end = ((n - k) * (n - k + 1)) / 2;
  const ends = () => {
    if (n < k + 2) return "No two offsets share a row.";
    if (k === 0) return `Row 0 serves all ${n * n} pairs: no two offsets can be told apart.`;
    const rows = [`row 0 serves ${end} pairs, all with j − i ≤ −${k}`, `row ${2 * k} serves ${end} pairs, all with j − i ≥ ${k}`];
    return `At its ends, ${rows.join(", and ")}.`;
  };
  const used = first === last ? `row ${first} is` : `rows ${first} to ${last} are`;
  const names = every.map((i) => (i < n ? `${i}` : ""));
  return {
    row,
    name: [...names, ...names],
    said: `The table has ${2 * k + 1} row${k ? "s" : ""}; ${used} used. ${ends()}`,
  };
}
