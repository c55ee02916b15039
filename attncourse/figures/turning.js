({ query, key, unit }, state, { formatNumber, arrow: { arrow } }) => {
  const turn = ([x, y], t) => {
    const angle = (t * state["degrees per position"] * Math.PI) / 180;
    const [along, up] = [Math.cos(angle), Math.sin(angle)];
    return [along * x - up * y, up * x + along * y];
  };
  const both = state["move both by"];
  const [i, j] = [state["query at"] + both, state["key at"] + both];
  const [q, k] = [turn(query, i), turn(key, j)];
  const score = q[0] * k[0] + q[1] * k[1];
  const tip = ([x, y]) => ({ d: arrow([0, 0], [unit * x, -unit * y]) });
  const offset = `${j - i}`.replace("-", "−");
  return {
    ...{ ask: tip(q), key: tip(k), turned: [...q, ...k], score },
    said: `Query at ${i}, key at ${j}: the offset is ${offset}, and the score is ${formatNumber(score)}.`,
  };
}
