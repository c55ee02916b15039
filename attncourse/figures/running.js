({ scores, values, block }, { "after block": last }, { shown }) => {
  let top = -Infinity, total = 0, z = 0, told = "";
  for (let step = 0; step <= last; step++) {
    const here = scores.slice(step * block, (step + 1) * block);
    const highest = Math.max(top, ...here);
    const fade = Math.exp(top - highest);
    const parts = here.map((score) => Math.exp(score - highest));
    total = parts.reduce((sum, part) => sum + part, fade * total);
    z = parts.reduce((sum, part, j) => sum + part * values[step * block + j], fade * z);
    told = top === highest
      ? `The largest score is still ${shown(top)}, so what was summed before stays. `
      : step
        ? `The largest score rises from ${shown(top)} to ${shown(highest)}, so what was summed before is multiplied by ${shown(fade)}. `
        : `The largest score is ${shown(highest)}. `;
    top = highest;
  }
  const seen = Math.min((last + 1) * block, scores.length);
  const nothing = { text: "", value: 0 };
  const part = scores.map((score, j) => (j < seen ? Math.exp(score - top) : nothing));
  return {
    part,
    weight: part.map((one) => (one === nothing ? nothing : one / total)),
    said: `${told}The sum of exponentials is ${shown(total)}, that of the values ${shown(z)}; divided, ${shown(z / total)}. ${
      seen < scores.length ? `${scores.length - seen} keys are still to come.` : "That is attention: no key is left."
    }`,
  };
}
