({ shares, steps, layers, least, parts }, { layer, distance, show }, { formatNumber }) => {
  const superscript = (x) => `${x}`.replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
  const powerOfTen = (exponent) => (exponent ? `10${superscript(exponent)}` : "1");
  const formatShare = (share) => {
    if (share >= 0.1 || share === 0) return share ? formatNumber(share) : "0";
    const [digits, exponent] = share.toExponential(1).split("e");
    return `${digits} · ${powerOfTen(Number(exponent))}`;
  };

  const last = shares[0].length - 1;
  const longest = parts * Math.ceil(Math.max(...steps.flat()) / parts);
  // distance from the top; null where there is no gradient, or no path
  const height = (i, t) => {
    if (show) return steps[i][t] < 0 ? null : 1 - steps[i][t] / longest;
    return shares[i][t] > 0 ? Math.max(Math.log10(shares[i][t]) / least, 0) : null;
  };
  const markClass = (i) => (i === layer ? " on" : "");
  const points = (i) => shares[i].slice(1)
    .map((_, t) => [t, height(i, t + 1)])
    .filter(([, y]) => y !== null)
    .map(([t, y]) => `${t},${y.toFixed(3)}`).join(" ");
  const x = `${+((100 * (distance - 1)) / (last - 1)).toFixed(2)}%`;
  const dot = (i) => {
    const y = height(i, distance);
    return { cx: x, cy: `${(100 * (y ?? 0)).toFixed(1)}%`, r: y === null ? 0 : markClass(i) ? 6 : 4 };
  };

  const share = shares[layer][distance], count = steps[layer][distance];
  const tokens = distance === 1 ? "1 token" : `${distance} tokens`;
  const length = count === 1 ? "1 step" : `${count} steps`;
  return {
    curve: layers.map((_, i) => ({ points: points(i), class: `line${i}${markClass(i)}` })),
    dot: layers.map((_, i) => dot(i)),
    cursor: { x1: x, x2: x },
    tick: [...Array(parts + 1).keys()].map((i) => (
      show ? `${longest - (longest * i) / parts}` : powerOfTen((least * i) / parts)
    )),
    at: `${distance}`,
    left: shares.map((line) => ({ text: formatShare(line[distance]), value: line[distance] })),
    path: steps.map((line) => ({ text: line[distance] < 0 ? "none" : `${line[distance]}`, value: line[distance] })),
    said: count < 0
      ? `${layers[layer]}, ${tokens} back: no path leads from there to here, so there’s no gradient.`
      : `${layers[layer]}, ${tokens} back: the path has ${length}, and the gradient is ${formatShare(share)} times what it is at distance 1.`,
  };
}
