(held, state, { formatNumber, session, model, pieces }) => {
  const BARS = 6;
  const weights = window.attncourseEnglish;
  if (weights) held.session ??= session(weights, held.unsaid, model, pieces);
  const now = held.session;
  const { text, whole, writing, pointed, head, side } = state;
  const decades = [state.decade, state.beside];
  const nameOf = (decade) => `${decade}s`;
  const theDecade = (decade) => `the ${decade}s`;
  const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const off = Array.from({ length: held.heads }, (_, h) => h).filter((h) => state[`on ${h}`] === false);

  // the recorded first state, shown until the model is loaded
  const recorded = () => {
    const { opening } = held;
    const asked = Object.keys(state).some((name) => name.startsWith("cover ") && state[name]);
    const begun = text === opening.text && decades.join() === opening.decades.join() && !asked && !off.length;
    if (!begun || pointed >= 0 && pointed < opening.items.length - 1) return null;
    return { items: opening.items, parts: opening.parts, covered: [], sides: opening.sides, marks: opening.sides[side].marks, looks: opening.sides[side].looks[head + 1] };
  };
  // the model's predictions for the text in each decade
  const computed = () => {
    const tokens = now.tokensOf(text);
    if (tokens.length > now.most) return { long: tokens.length };
    const all = now.items(tokens);
    const covered = all.map((_, i) => i).filter((i) => state[`cover ${i}`]);
    const hidden = now.hiddenBy(all, covered);
    const sides = decades.map((decade, i) => {
      // while one side writes, the other is not updated
      if (writing >= 0 && writing !== i) return null;
      const run = now.runOf({ decade, tokens, hidden, off });
      const next = now.best(run, BARS, whole && writing < 0);
      return { run, next, other: 1 - next.reduce((sum, { p }) => sum + p, 0) };
    });
    const seen = sides[side] ?? sides[1 - side];
    const place = pointed >= 0 && all[pointed] ? all[pointed].places.at(-1) : seen.run.length - 1;
    const measured = writing < 0 ? now.marks({ decade: decades[side], tokens, covered, off }) : null;
    // recorded effects stay until all are measured, so that the layout does not jump
    const ready = !measured || Object.keys(measured.bits).length === all.length;
    const marks = (!ready && recorded()?.marks) || measured?.bits;
    return {
      items: all.map((item) => item.text), parts: all.map((item) => item.parts), covered, sides, tokens, hidden, off, measured,
      marks: marks ?? [], looks: now.looks(seen.run, place, head), full: tokens.length === now.most,
    };
  };
  const found = now ? computed() : recorded();
  if (!found || found.long) {
    const missing = weights === null ? "The model could not be loaded." : "The model is being loaded.";
    const long = found && `This text has ${found.long} pieces of words, and the model reads at most ${now.most}.`;
    return { sheet: { class: "sheet wait" }, onward: { class: long ? "onward" : "onward none" }, said: long || missing, now: () => now };
  }

  const { items, parts, covered, sides, marks } = found;
  const last = items.length - 1;
  const at = pointed >= 0 && pointed <= last ? pointed : last;
  const sentence = ([first, ...others]) => `${first.toUpperCase()}${others.join("")}`;
  const quoted = (item) => (item ? `“${items[item].trim() || "¶"}”` : "the decade");
  const list = new Intl.ListFormat("en-GB");
  const show = (text) => (/\ufffd/.test(text) ? "(part of a sign)" : text.trim() || (text.includes("\n") ? "¶" : "␣"));

  held.rows ??= [];
  sides.forEach((one, i) => {
    if (one) held.rows[i] = Array.from({ length: BARS }, (_, k) => one.next[k] ?? { text: "", rest: "", p: 0 });
    if (one) held.rows[i].other = one.other;
  });
  const rows = held.rows.flat();
  const early = weights?.training?.find(({ step }) => step === state.step)?.next ?? held.opening.sides.map(({ next }) => next);
  const training = early.flatMap((next) => next.slice(0, 4));

  const takes = sides.map((one, i) => {
    const [first] = held.rows[i];
    return `“${show(first.text)}${first.rest}” (${formatNumber(first.p)}) in ${theDecade(decades[i])}`;
  });
  const said = () => {
    if (writing >= 0) return `Being written as in ${theDecade(decades[writing])}.`;
    const trimmed = text.trim();
    const quote = trimmed.length > 60 ? `…${trimmed.slice(-50).replace(/^\S+(?=\s)/, "")}` : trimmed;
    const decided = `${quote ? `After “${quote}”` : "At the beginning"}, most likely: ${takes.join(", ")}.`;
    const hint = text === held.opening.text && !covered.length && !off.length ? ` ${held.hint}` : "";
    const done = [covered.length && `covering ${list.format(covered.map(quoted))}`, off.length && `switching off ${many(off.length, "head")}`].filter(Boolean);
    const change = done.length && now && decades.map((decade) => {
      const { tokens, hidden } = found;
      return `${formatNumber(now.changed({ decade, tokens, hidden, off }, { decade, tokens }))} bits in ${theDecade(decade)}`;
    });
    const end = found.full ? ` The model reads at most ${now.most} pieces of words: here the text ends. The button above goes on from the last 64.` : "";
    const passed = held.passed ? ` ${many(held.passed, "draw")} would have ended in a word that this page does not print, and ${held.passed === 1 ? "was" : "were"} drawn again.` : "";
    const changing = change ? ` ${sentence(`${done.join(" and ")} change${done.length > 1 ? "" : "s"} what comes next by ${list.format(change)}.`)}` : "";
    return `${decided}${hint}${changing}${end}${passed}`;
  };
  // the divergence is not symmetric: uncovering has another size than covering
  const covering = (i) => {
    const size = `it changes what comes next by ${formatNumber(marks[i])} bits`;
    const from = covered.includes(i) ? `uncovering ${size}, counted from what comes next without it.` : `covering ${size}.`;
    // the last word has no later word that could attend to it
    return i === last ? `${from} Its last piece, “${show(parts[i].at(-1))}”, reads itself all the same.` : from;
  };
  const legend = () => {
    const free = marks.map((bits, i) => (covered.includes(i) ? -1 : bits ?? -1));
    const most = free.indexOf(Math.max(...free));
    const ready = Object.keys(marks).length > last;
    if (pointed < 0 && !ready) return writing < 0 ? "What matters most is being measured." : "";
    if (pointed < 0) return free[most] > 0 ? `What matters most is ${quoted(most)}: ${covering(most)}` : "";
    if (at === last && marks[at] < 0.005) return `${quoted(at)} is the last: no later word could look at it.`;
    return sentence(`${quoted(at)}: ${marks[at] === undefined ? "being measured." : covering(at)}`);
  };
  // weights on the start, on each token, and on each item
  const [start, ...each] = found.looks;
  const within = parts.map((own) => each.splice(0, own.length));
  const shares = within.map((some) => some.reduce((sum, share) => sum + share, 0));
  const looked = () => {
    const most = Math.max(...shares);
    const where = shares.indexOf(most);
    const target = start > most ? "the start" : where === at ? "itself" : quoted(where);
    const who = head < 0 ? "the heads together look" : `head ${Math.floor(head / held.of_block)}.${head % held.of_block} looks`;
    const from = at ? quoted(at) : "the decade";
    const own = target === "itself" && parts[at].length > 1;
    const split = own ? ` Its pieces: ${parts[at].map((part, i) => `“${show(part)}” ${formatNumber(within[at][i])}`).join(", ")}.` : "";
    return `From ${from}, ${who} most at ${target}: ${formatNumber(Math.max(start, most))} of the weight.${split}`;
  };
  return {
    sheet: { class: writing >= 0 ? "sheet busy" : "sheet" },
    onward: { class: found.full ? "onward" : "onward none" },
    items: { count: items.length },
    item: items.map((_, i) => ({ class: `item${i ? "" : " decade"}${covered.includes(i) ? " covered" : ""}${i === at ? " on" : ""}` })),
    seen: items.map((one, i) => (i ? show(one) : nameOf(decades[side]))),
    cover: items.map((one, i) => {
      const bits = marks[i] === undefined ? "" : ` (${formatNumber(marks[i])} bits)`;
      return { "aria-label": `${i ? `cover ${show(one)}` : "cover the decade"}${bits}` };
    }),
    mark: items.map((_, i) => ({ style: `--bits:${marks[i] === undefined ? 0 : Math.min(marks[i], 1).toFixed(3)}` })),
    legend: legend(),
    looked: looked(),
    reads: decades.map(nameOf),
    decade: decades.map(nameOf),
    side: sides.map((one, i) => ({ class: one ? "side" : "side later", "aria-label": nameOf(decades[i]) })),
    next: rows.map(({ p }) => ({ style: `--share:${p.toFixed(3)}` })),
    word: rows.map(({ text }) => (text ? show(text) : "")),
    rest: rows.map(({ rest }) => rest),
    share: rows.map(({ p }) => p),
    take: rows.map(({ text, rest }) => ({ "aria-label": `take “${show(text)}${rest}”` })),
    other: held.rows.map(({ other }) => formatNumber(other)),
    early: training.map(({ p }) => ({ style: `--share:${p.toFixed(3)}` })),
    begun: training.map(({ text, rest }) => `${show(text)}${rest}`),
    chance: training.map(({ p }) => p),
    said: said(),
    // for start.js
    arcs: () => ({ at, start, shares, many: off.length }),
    taken: () => held.rows,
    passed: (count) => {
      held.passed = count === null ? 0 : (held.passed ?? 0) + count;
    },
    now: () => now,
    found: () => found,
  };
}
