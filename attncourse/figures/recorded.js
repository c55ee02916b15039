({ measured, rows, names, cases, control }, state, { shown, most }) => {
  const picked = measured[typeof cases[0] === "number" ? cases.indexOf(state[control]) : state[control]];
  const apart = picked.map((line) => Math.abs(line[0] - line.at(-1)));
  const at = apart.indexOf(Math.max(...apart));
  const told = names.length === 2
    ? `“${rows[at]}” has the largest difference: ${names.map((name, i) => `${shown(picked[at][i])} with ${name}`).join(", ")}`
    : names.map((name, i) => {
      const [top, where] = most(picked.map((line) => line[i]), rows.map((row) => `“${row}”`));
      return `${name}: most, ${top}, at ${where}`;
    }).join("; ");
  return { bar: picked, said: `${told}.` };
}
