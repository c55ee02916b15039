({ n, layers: depth }, { layers: kind, width, output }) => {
  const places = [...Array(n).keys()];
  const half = (width - 1) / 2;
  const joined = (i, j, layer) => {
    const apart = kind === 1 ? 2 ** layer : 1;
    const steps = Math.abs(i - j) / apart;
    return kind === 2 || (Number.isInteger(steps) && steps <= half);
  };
  const rows = [places.map((i) => (i === output ? 1 : 0))];
  for (let layer = depth - 1; layer >= 0; layer--)
    rows.push(places.map((j) => rows.at(-1).reduce((sum, x, i) => sum + (joined(i, j, layer) ? x : 0), 0)));
  const path = rows.map((row) => {
    const most = Math.max(...row);
    return row.map((x) => ({ text: x ? "•" : "·", value: x / most }));
  });

  const seen = places.filter((j) => rows.at(-1)[j]);
  const range = seen.length > 1 ? `, from ${seen[0]} to ${seen.at(-1)}` : "";
  const span = kind === 1 ? (2 ** depth - 1) * (width - 1) + 1 : depth * (width - 1) + 1;
  const why = kind === 2 ? " A single layer would be enough." : seen.length < span ? ` Far from the ends, it would see ${span}.` : "";
  return { path, said: `Output ${output} sees ${seen.length} of ${n} inputs${range}.${why}` };
}
