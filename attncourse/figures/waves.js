({ n, count }, { position, d }, { formatNumber }) => {
  const places = [...Array(n).keys()];
  const frequency = [...Array(d / 2).keys()].map((i) => 10000 ** ((-2 * i) / d));
  const wave = places.map((t) => frequency.flatMap((w) => [Math.sin(t * w), Math.cos(t * w)]));
  const dot = (p, q) => p.reduce((sum, x, c) => sum + x * q[c], 0);
  const product = wave.map((p) => dot(p, wave[position]));
  const share = product.map((x) => x / (d / 2));

  const signed = (x) => (x ? `${x < 0 ? "−" : "+"}${Math.abs(x)}` : "0");
  const near = position + 1 < n ? position + 1 : position - 1;
  const both = [position, near].map((t) => formatNumber(product[t]));
  return {
    ...{ wave: wave.map((p) => p.slice(0, count)), share, half: `${d / 2}` },
    offset: places.map((t) => signed(t - position)),
    said: `At width ${d}, position ${position} has the dot product ${both[0]} with itself and ${both[1]} with position ${near}.`,
  };
}
