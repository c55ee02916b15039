(held, state, { formatNumber, session, model, pieces }) => {
  const BARS = 6;
  const weights = window.attncourseEnglish;
  if (weights) held.session ??= session(weights, held.unsaid, model, pieces);
  const now = held.session;
  const { text, whole, writing, head } = state;
  // what is folded is neither shown nor computed
  const open = state.more === 1;
  const pointed = open ? state.pointed : -1;
  const side = open ? state.side : 0;
  const decades = [state.decade, state.beside];
  const nameOf = (decade) => `${decade}s`;
  const theDecade = (decade) => `the ${decade}s`;
  const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const off = Array.from({ length: held.heads }, (_, h) => h).filter((h) => state[`on ${h}`] === false);

  const coveredOf = (items) => items.map((_, i) => i).filter((i) => state[`cover ${i}`]);
  // the recorded states of the first text, shown until the model is loaded
  const recorded = () => {
    const { text: first, decades: firstDecades, items, parts, states } = held.opening;
    const covered = coveredOf(items);
    const one = states.find((one) => one.covered.join() === covered.join());
    const begun = text === first && decades.join() === firstDecades.join() && one && !off.length;
    if (!begun || pointed >= 0 && pointed < items.length - 1) return null;
    const { marks, looks } = one.sides[side];
    return { items, parts, covered, sides: one.sides, before: states[0].sides[0].next[0], change: states[0].sides.map((own) => own.marks[covered[0]]), marks, looks: looks[head + 1] };
  };
  // the model's predictions for the text in each decade
  const computed = () => {
    const tokens = now.tokensOf(text);
    if (tokens.length > now.most) return { long: tokens.length };
    const all = now.items(tokens);
    const covered = coveredOf(all);
    const hidden = now.hiddenBy(all, covered);
    const sides = decades.map((decade, i) => {
      // while one side writes, the other is not updated
      if (writing >= 0 && writing !== i || i && !open) return null;
      const run = now.runOf({ decade, tokens, hidden, off });
      const next = now.best(run, BARS, whole && writing < 0);
      return { run, next, other: 1 - next.reduce((sum, { p }) => sum + p, 0) };
    });
    const seen = sides[side] ?? sides[1 - side];
    const place = pointed >= 0 && all[pointed] ? all[pointed].places.at(-1) : seen.run.length - 1;
    const measured = open && writing < 0 ? now.marks({ decade: decades[side], tokens, covered, off }) : null;
    // recorded effects stay until all are measured, so that the layout does not jump
    const ready = !measured || Object.keys(measured.bits).length === all.length;
    const marks = (!ready && recorded()?.marks) || measured?.bits;
    const changing = writing < 0 && (covered.length || off.length);
    const before = changing && now.best(now.runOf({ decade: decades[0], tokens }), BARS, whole)[0];
    const change = changing && open && decades.map((decade) => now.changed({ decade, tokens, hidden, off }, { decade, tokens }));
    return {
      items: all.map((item) => item.text), parts: all.map((item) => item.parts), covered, sides, tokens, hidden, off, measured, before, change,
      marks: marks ?? [], looks: now.looks(seen.run, place, head), full: tokens.length === now.most,
    };
  };
  const found = now ? computed() : recorded();
  if (!found || found.long) {
    const missing = weights === null ? "The model couldn’t be loaded." : "The model is loading.";
    const long = found && `This text has ${found.long} tokens, and the model reads at most ${now.most}.`;
    return { sheet: { class: `sheet wait${open ? " open" : ""}` }, onward: { class: long ? "onward" : "onward none" }, said: long || missing, now: () => now };
  }

  const { items, parts, covered, sides, marks } = found;
  const last = items.length - 1;
  const at = pointed >= 0 && pointed <= last ? pointed : last;
  const sentence = ([first, ...others]) => `${first.toUpperCase()}${others.join("")}`;
  const quoted = (item) => (item ? `“${items[item].trim() || "¶"}”` : "the decade");
  const list = new Intl.ListFormat("en-GB");
  const show = (text) => (/\ufffd/.test(text) ? "(part of a character)" : text.trim() || (text.includes("\n") ? "¶" : "␣"));

  // a token that goes on with the last word is shown with that word
  const worded = (next) => ({ ...next, joined: next.text.startsWith("…") ? show(items[last]) : "", begun: next.text && show(next.text.replace(/^…/, "")) });
  held.rows ??= [];
  sides.forEach((one, i) => {
    if (one) held.rows[i] = Array.from({ length: BARS }, (_, k) => worded(one.next[k] ?? { text: "", rest: "", p: 0 }));
    if (one) held.rows[i].other = one.other;
  });
  const rows = held.rows.flat();
  const training = (weights?.training?.steps.find(({ step }) => step === state.step)?.next ?? held.trained).flat();

  // the probability is that of the token alone
  const expected = ({ joined, begun, rest, p }) => `“${begun}” (${formatNumber(p)}${joined || rest ? `, as in “${joined}${begun}${rest}”` : ""})`;
  const inDecades = (texts) => list.format(texts.map((one, i) => `${one} in ${theDecade(decades[i])}`));
  const said = () => {
    if (writing >= 0) return `Writing as in ${theDecade(decades[writing])}.`;
    const trimmed = text.trim();
    const quote = trimmed.length > 60 ? `…${trimmed.slice(-50).replace(/^\S+(?=\s)/, "")}` : trimmed;
    const done = [covered.length && `${list.format(covered.map(quoted))} covered`, off.length && `${many(off.length, "head")} switched off`].filter(Boolean);
    const firsts = held.rows.map(([first]) => expected(first));
    const where = done.length ? `With ${list.format(done)}` : quote ? `After “${quote}”` : "At the beginning";
    const expects = `${where}, the model expects ${open ? inDecades(firsts) : firsts[0]}.`;
    const change = !done.length ? "" : open ? ` The prediction shifts by ${inDecades(found.change.map((bits) => `${formatNumber(bits)} bits`))}.` : ` Before, it expected ${expected(worded(found.before))}.`;
    const end = found.full ? ` The model reads at most ${now.most} tokens, so the text ends here. The button below goes on from the last 64.` : "";
    const passed = held.passed ? ` ${many(held.passed, "draw")} would have ended in a word that this page doesn’t print, and ${held.passed === 1 ? "was" : "were"} drawn again.` : "";
    return `${expects}${change}${end}${passed}`;
  };
  const first = text === held.opening.text && decades[0] === held.opening.decades[0];
  const tip = () => {
    if (covered.length) return "No later word can see a covered word. Tap it again to uncover it.";
    return first ? held.tip : "Tap a word to cover it: no later word can then see it.";
  };
  // the divergence is not symmetric: uncovering has another size than covering
  const covering = (i) => {
    const shift = `${covered.includes(i) ? "uncover" : "cover"} it, and the prediction shifts by ${formatNumber(marks[i])} bits.`;
    // the last word has no later word that could attend to it
    return i === last ? `${shift} Its last token, “${show(parts[i].at(-1))}”, still reads itself.` : shift;
  };
  const legend = () => {
    const free = marks.map((bits, i) => (covered.includes(i) ? -1 : bits ?? -1));
    const most = free.indexOf(Math.max(...free));
    const ready = Object.keys(marks).length > last;
    if (pointed < 0 && !ready) return writing < 0 ? "We’re still measuring what matters most." : "";
    if (pointed < 0) return free[most] > 0 ? `What matters most is ${quoted(most)}: ${covering(most)}` : "";
    if (at === last && marks[at] < 0.005) return `${quoted(at)} is the last word, so no later word could look at it.`;
    return sentence(`${quoted(at)}: ${marks[at] === undefined ? "we’re still measuring." : covering(at)}`);
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
    const split = own ? ` Its tokens: ${parts[at].map((part, i) => `“${show(part)}” ${formatNumber(within[at][i])}`).join(", ")}.` : "";
    return `From ${from}, ${who} most at ${target}: ${formatNumber(Math.max(start, most))} of the weight.${split}`;
  };
  return {
    sheet: { class: `sheet${writing >= 0 ? " busy" : ""}${open ? " open" : ""}` },
    tip: tip(),
    onward: { class: found.full ? "onward" : "onward none" },
    items: { count: items.length },
    item: items.map((_, i) => ({ class: `item${i ? "" : " decade"}${first && i === held.tipped ? " tipped" : ""}${covered.includes(i) ? " covered" : ""}${i === at ? " on" : ""}` })),
    seen: items.map((one, i) => (i ? show(one) : nameOf(decades[side]))),
    cover: items.map((one, i) => {
      const bits = !open || marks[i] === undefined ? "" : ` (${formatNumber(marks[i])} bits)`;
      return { "aria-label": `${i ? `cover ${show(one)}` : "cover the decade"}${bits}` };
    }),
    mark: items.map((_, i) => ({ style: `--bits:${marks[i] === undefined ? 0 : Math.min(marks[i], 1).toFixed(3)}` })),
    legend: legend(),
    looked: looked(),
    reads: decades.map(nameOf),
    decade: decades.map(nameOf),
    side: sides.map((one, i) => ({ class: one ? "side" : "side later", "aria-label": nameOf(decades[i]) })),
    next: rows.map(({ p }) => ({ style: `--share:${p.toFixed(3)}` })),
    joined: rows.map(({ joined }) => joined),
    word: rows.map(({ begun }) => begun),
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
