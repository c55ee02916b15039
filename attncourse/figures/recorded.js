({ measured, forbidden, rows, names, cases, control }, state, { formatNumber, most }) => {
  const now = typeof cases[0] === "number" ? cases.indexOf(state[control]) : state[control];
  const numbers = measured[now];
  const differences = numbers.map((line) => Math.abs(line[0] - line.at(-1)));
  const at = differences.indexOf(Math.max(...differences));
  const summary = names.length === 2
    ? `“${rows[at]}” has the largest difference: ${names.map((name, i) => `${formatNumber(numbers[at][i])} with ${name}`).join(", ")}`
    : names.map((name, i) => {
      const [top, where] = most(numbers.map((line) => line[i]), rows.map((row) => `“${row}”`));
      return `${name} has its largest value, ${top}, for ${where}`;
    }).join("; ");
  const bar = numbers.map((line, i) => line.map((value) => forbidden[now][i]
    ? { text: "", value: 0, class: "bar forbidden" }
    : { text: formatNumber(value), value, class: "bar" }));
  return { bar, said: `${summary}.` };
}
