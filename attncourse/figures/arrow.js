(() => {
  const point = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`.replaceAll("-0.0", "0.0");
  const line = (tail, tip) => `M${point(tail)}L${point(tip)}`;
  const arrow = (tail, tip) => {
    const [[x, y], [u, v]] = [tail, tip];
    const length = Math.hypot(u - x, v - y);
    if (length < 1) return "";
    const barb = Math.min(9, length / 2) / length;
    const [a, b] = [(u - x) * barb, (v - y) * barb];
    return line(tail, tip) + line([u - a - b / 2, v - b + a / 2], tip) + line(tip, [u - a + b / 2, v - b - a / 2]);
  };
  return { point, line, arrow };
})()
