({ measured, rows, names, cases, control }, state, { most }) => {
  const picked = typeof cases[0] === "number" ? cases.indexOf(state[control]) : state[control];
  const told = names.map((name, i) => {
    const [top, at] = most(measured[picked].map((line) => line[i]), rows);
    return `${name}: most, ${top}, at ${at}`;
  });
  return { bar: measured[picked], said: `${control} ${cases[picked]}. ${told.join("; ")}.` };
}
