({ scores, tokens }, { temperature, k, draw, "draw 100": hundreds, cleared }, { formatNumber }) => {
  const border = [...scores].sort((a, b) => b - a)[k - 1];
  const top = Math.max(...scores);
  const parts = scores.map((score) => (score < border ? 0 : Math.exp((score - top) / temperature)));
  const total = parts.reduce((sum, part) => sum + part);
  const chance = parts.map((part) => part / total);
  const likeliest = Math.max(...chance);
  const left = scores.filter((score) => score >= border).length;

  // number i of the generator mulberry32 with the seed 0: the same for every reader
  const uniform = (i) => {
    let t = Math.imul(i + 1, 0x6d2b79f5);
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  // inverse transform sampling: each token has an interval of the length of its probability
  let sum = 0;
  const ends = chance.map((p) => (sum += p));
  const draws = draw + 100 * hundreds;
  const count = tokens.map(() => 0);
  let last = -1;
  for (let i = 0; i < draws; i++) {
    const x = uniform(i);
    last = ends.findIndex((end) => x < end);
    count[last] += 1;
  }
  const share = count.map((n) => (draws ? n / draws : { text: "", value: 0 }));
  const gap = Math.max(...share.map((part, i) => Math.abs(part - chance[i])));
  const odds = `“${tokens[chance.indexOf(likeliest)]}” is drawn with a probability of ${formatNumber(likeliest)}; ${
    left === 1 ? "no other token" : left === 2 ? "one other token" : `${left - 1} other tokens`
  } can be drawn.`;
  return {
    token: tokens.map((text, i) => ({ text, class: i === last ? "now" : "" })),
    chance,
    share,
    count: count.map((n) => ({ text: `${n}`, value: n })),
    said: draws
      ? `Draw ${draws}: “${tokens[last]}”. The largest gap between a share and its probability is ${formatNumber(gap)}.`
      : `${cleared ? "The tally is cleared. " : ""}${odds}`,
  };
}
