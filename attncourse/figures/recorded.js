({ measured, rows, names, cases, control }, state, { formatNumber, most }) => {
  const numbers = measured[typeof cases[0] === "number" ? cases.indexOf(state[control]) : state[control]];
  const differences = numbers.map((line) => Math.abs(line[0] - line.at(-1)));
  const at = differences.indexOf(Math.max(...differences));
  const summary = names.length === 2
    ? `“${rows[at]}” has the largest difference: ${names.map((name, i) => `${formatNumber(numbers[at][i])} with ${name}`).join(", ")}`
    : names.map((name, i) => {
      const [top, where] = most(numbers.map((line) => line[i]), rows.map((row) => `“${row}”`));
      return `${name} is largest, ${top}, at ${where}`;
    }).join("; ");
  return { bar: numbers, said: `${summary}.` };
}
