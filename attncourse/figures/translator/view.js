(held, { number, "looks at": before, head, part }, { most, naming, model }) => {
  const { english, german, spelt, read } = naming;
  const { n, wrong } = read(number);
  const weights = window.attncourseNumbers;
  if (weights && n && held.run?.n !== n) {
    held.write ??= model(weights);
    held.run = { n, english: english(n), steps: held.write(english(n)) };
  }
  const run = held.run?.n === n ? held.run : !weights && !before && held.recorded.n === n && held.recorded;
  if (!run) {
    const missing = weights === null ? "The model couldn’t be loaded." : "The model is loading.";
    return { drawn: { class: wrong ? "drawn off" : "drawn wait" }, said: wrong ?? missing };
  }

  const written = run.steps.map((step) => step.part);
  const at = Math.min(part ?? Infinity, written.length - 1);
  const keys = before ? ["(start)", ...written.slice(0, -1)] : run.english;
  // in self-attention, a part attends to itself and those before it
  const weightRows = run.steps.map((step) => keys.map((_, j) => (before ? step.self : step.cross)[head][j] ?? 0));
  const arcs = weightRows.flatMap((row, i) => row.map((value, j) => {
    const [from, to] = [(j + 0.5) / keys.length, (i + 0.5) / written.length].map((y) => Number(y.toPrecision(4)));
    return { value, class: i === at ? "on" : i < at ? "" : "later", d: `M0 ${from}C.5 ${from} .5 ${to} 1 ${to}` };
  }));

  const parts = written.filter((one) => one !== "(end)");
  // a long name may break between its parts
  const [whole, done] = [parts, parts.slice(0, at + 1)].map((some) => spelt(some, "\u00ad"));
  const name = spelt(parts);
  const truth = spelt(german(n));
  const verdict = name === truth ? "which is right" : `which is wrong: it is “${truth}”`;
  const long = run.english.length > held.longest && ` In training, no name had more than ${held.longest} English words; this one has ${run.english.length}.`;
  const [top, where] = most(weightRows[at], keys);
  return {
    drawn: { class: "drawn" },
    done,
    rest: whole.slice(done.length),
    from: before ? "German so far" : "English words",
    keys: { count: keys.length },
    key: keys,
    found: weightRows[at],
    arcs: { count: arcs.length },
    arc: arcs,
    parts: { count: written.length },
    ask: written.map((_, i) => ({ class: i === at ? "on" : i < at ? "" : "later" })),
    part: written,
    said: `${n.toLocaleString("en")} in German: “${name}”, ${verdict}.${long || ""} For “${written[at]}”, head ${head} gives its largest weight, ${top}, to ${where}.`,
  };
}
