({ weights, queries, keys }, { head, query }, { most }) => {
  const row = weights[head][query];
  const [top, where] = most(row, keys);
  // the chosen query is marked in the drawing and in the table
  const chosen = (i) => (i === query ? "on" : "");
  return {
    asks: queries.map((_, i) => ({ class: chosen(i) })),
    arc: weights[head].map((line, i) => line.map((value) => ({ value, class: chosen(i) }))),
    found: row,
    weight: weights[head],
    line: queries.map((_, i) => ({ class: chosen(i) })),
    said: `In head ${head}, query ${queries[query]} gives its largest weight, ${top}, to ${where}.`,
  };
}
