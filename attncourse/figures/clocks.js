({ n, frequencies, radius, apart, step, high }, { position, another }, { formatNumber, arrow: { arrow } }) => {
  const mean = (numbers) => numbers.reduce((total, one) => total + one, 0) / numbers.length;
  const hand = (t) => frequencies.map((w, i) => {
    const [x, angle] = [apart * i, w * t];
    return { d: arrow([x, 0], [x + radius * Math.sin(angle), -radius * Math.cos(angle)]) };
  });
  const cosines = (t) => frequencies.map((w) => Math.cos(w * (position - t)));
  const shares = [...Array(n).keys()].map((t) => mean(cosines(t)));
  const number = (x) => x.toFixed(1).replace("-0.0", "0.0");
  return {
    one: hand(position),
    other: hand(another),
    turned: frequencies.flatMap((w) => [w * position, w * another]),
    cosine: cosines(another),
    mean: shares[another],
    curve: { points: shares.map((share, t) => `${(step * t).toFixed(1)},${number(-high * share)}`).join(" ") },
    dot: { cx: (step * another).toFixed(1), cy: number(-high * shares[another]) },
    said: `The dot product of positions ${position} and ${another} is ${formatNumber(shares[another])} times that of a position with itself.`,
  };
}
