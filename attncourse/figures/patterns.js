({ most, random, orders }, { pattern, n, width }) => {
  const range = (length) => [...Array(length).keys()];
  const half = (width - 1) / 2;
  const near = (i, j) => Math.abs(j - i) <= half;
  const fixed = [() => true, (i, j) => j <= i, near, (i, j) => near(i, j) || !i || !j][Math.min(pattern, 3)];
  const drawn = pattern === 4 ? random : 0;

  // number of keys of query i among `length` tokens, in closed form
  const keys = (i, length) => {
    if (pattern < 2) return pattern ? i + 1 : length;
    const first = Math.max(0, i - half);
    let found = Math.min(length - 1, i + half) - first + 1;
    if (pattern > 2) found = i ? found + (first > 0) : length;
    return Math.min(length, found + drawn);
  };
  const pairs = (length) => range(length).reduce((sum, i) => sum + keys(i, length), 0);
  const pairCount = (length) => {
    const share = (100 * pairs(length)) / length ** 2;
    return `${pairs(length)} of ${length ** 2} pairs, ${share.toFixed(1)} %`;
  };

  const line = (i) => {
    const fixedKeys = range(n).filter((j) => fixed(i, j));
    const randomKeys = orders[i].filter((j) => j < n && !fixed(i, j)).slice(0, drawn);
    const allowed = new Set([...fixedKeys, ...randomKeys]);
    return range(most).map((j) => (allowed.has(j) ? { text: "•", value: 1 } : { text: "", value: 0 }));
  };
  const empty = range(most).map(() => ({ text: "", value: 0 }));
  const names = range(most).map((i) => (i < n ? `${i}` : ""));
  return {
    pair: range(most).map((i) => (i < n ? line(i) : empty)),
    name: [...names, ...names],
    said: `The pattern keeps ${pairCount(n)}; on 1024 tokens, ${pairCount(1024)}.`,
  };
}
