({ n, kernels, offsets }, { kernel, alpha, query }, { formatNumber }) => {
  const places = [...Array(n).keys()];
  const taps = kernels[kernel];
  const softmax = (scores) => {
    const top = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - top));
    const total = powers.reduce((sum, x) => sum + x);
    return powers.map((x) => x / total);
  };
  const weight = offsets.map((o) => softmax(places.map((j) => -alpha * (j - query - o) ** 2)));
  const sum = places.map((j) => taps.reduce((total, tap, h) => total + tap * weight[h][j], 0));
  const truth = places.map((j) => taps[offsets.indexOf(j - query)] ?? 0);

  const off = Math.max(...places.map((j) => Math.abs(sum[j] - truth[j])));
  const outside = query === 0 ? 0 : query === n - 1 ? 2 : -1;
  const names = ["−1", "0", "+1"];
  const said = [
    `Together, the heads differ from the kernel by ${off < 0.005 ? "less than 0.005" : `up to ${formatNumber(off)}`}.`,
    outside < 0 ? "" : ` Head ${names[outside]} looks outside the sequence, so its nearest key is ${query}.`,
  ].join("");
  return { weight, sum, true: truth, said };
}
