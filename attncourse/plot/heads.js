({ weights, queries, keys }, { head, query }, shown) => {
  const row = weights[head][query];
  const top = Math.max(...row);
  const said = `most weight, ${shown(top)}, on ${keys[row.indexOf(top)]}`;
  return { weight: weights[head], said: `Head ${head}, query ${queries[query]}: ${said}.` };
}
