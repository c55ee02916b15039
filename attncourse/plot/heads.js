({ weights, queries, keys }, { head, query }, { most }) => {
  const [top, where] = most(weights[head][query], keys);
  const said = `Head ${head}, query ${queries[query]}: most weight, ${top}, on ${where}.`;
  return { weight: weights[head], said };
}
