({ shares, steps, layers, columns, least }, { layer, distance, show }, { shown }) => {
  const raised = (x) => `${x}`.replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
  const left = (share) => {
    if (share === 0) return { text: "0", value: 0 };
    const exponent = Math.round(Math.log10(share));
    const value = Math.min(Math.max(1 - exponent / least, 0), 1);
    return { text: exponent ? `10${raised(exponent)}` : "1", value };
  };
  const far = (count) => (count < 0 ? { text: "none", value: 0 } : { text: `${count}`, value: 1 / count });

  const share = shares[layer][distance], count = steps[layer][distance];
  const exact = () => {
    if (share >= 0.1) return shown(share);
    const [digits, exponent] = share.toExponential(1).split("e");
    return `${digits} · 10${raised(Number(exponent))}`;
  };
  const tokens = distance === 1 ? "1 token" : `${distance} tokens`;
  const length = count === 1 ? "1 step" : `${count} steps`;
  return {
    cell: layers.map((_, i) => columns.map((t) => (show ? far(steps[i][t]) : left(shares[i][t])))),
    said: count < 0
      ? `${layers[layer]}, ${tokens} back: no path leads from there, so there is no gradient.`
      : `${layers[layer]}, ${tokens} back: the path has ${length}, and the gradient is ${exact()} times that at distance 1.`,
  };
}
