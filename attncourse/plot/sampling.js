({ scores, tokens }, { temperature, k }, { shown }) => {
  const border = [...scores].sort((a, b) => b - a)[k - 1];
  const top = Math.max(...scores);
  const parts = scores.map((score) => (score < border ? 0 : Math.exp((score - top) / temperature)));
  const total = parts.reduce((sum, part) => sum + part);
  const chance = parts.map((part) => part / total);
  const likeliest = Math.max(...chance);
  const left = scores.filter((score) => score >= border).length;
  return {
    chance,
    said: `“${tokens[chance.indexOf(likeliest)]}” is drawn with a probability of ${shown(likeliest)}; ${
      left === 1 ? "no other token" : left === 2 ? "one other token" : `${left - 1} other tokens`
    } can be drawn.`,
  };
}
