({ scores, values, block }, { "after block": last }, { formatNumber }) => {
  let top = -Infinity, total = 0, z = 0, change = "";
  for (let step = 0; step <= last; step++) {
    const blockScores = scores.slice(step * block, (step + 1) * block);
    const highest = Math.max(top, ...blockScores);
    const fade = Math.exp(top - highest);
    const parts = blockScores.map((score) => Math.exp(score - highest));
    total = parts.reduce((sum, part) => sum + part, fade * total);
    z = parts.reduce((sum, part, j) => sum + part * values[step * block + j], fade * z);
    change = top === highest
      ? `The largest score is still ${formatNumber(top)}, so the earlier sums stay as they are. `
      : step
        ? `The largest score rises from ${formatNumber(top)} to ${formatNumber(highest)}, so the earlier sums are multiplied by ${formatNumber(fade)}. `
        : `The largest score is ${formatNumber(highest)}. `;
    top = highest;
  }
  const seen = Math.min((last + 1) * block, scores.length);
  const nothing = { text: "", value: 0 };
  const part = scores.map((score, j) => (j < seen ? Math.exp(score - top) : nothing));
  return {
    part,
    weight: part.map((one) => (one === nothing ? nothing : one / total)),
    said: `${change}The exponentials add up to ${formatNumber(total)}, and the values weighted by them to ${formatNumber(z)}, so the output is ${formatNumber(z / total)}. ${
      seen < scores.length ? `${scores.length - seen} keys are still to come.` : "No keys are left, so this is the output of attention."
    }`,
  };
}
