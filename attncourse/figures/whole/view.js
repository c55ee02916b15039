(held, state, { formatNumber, session, model, pieces }) => {
  const { COLUMNS, STEP, GUTTER, NEXT, NEXT_WIDE, CLOSED, INSIDE, BLOCKS_TOP, BAR_HIGH } = held.places;
  const weights = window.attncourseEnglish;
  if (weights) held.session ??= session(weights, held.unsaid, model, pieces);
  const now = held.session;
  const { text, decade, block, head, part } = state;
  const range = (count) => Array.from({ length: count }, (_, i) => i);
  const sentence = (says) => `${held.titles[part]}. ${says}`;
  const chosen = {
    part: held.rows.map((name) => ({ class: name === held.parts[part] ? "part on" : "part" })),
    entry: held.parts.map((_, i) => ({ class: i === part ? "entry on" : "entry" })),
    tab: range(held.heads).map((h) => ({ class: h === head ? "tab on" : "tab" })),
  };
  const waiting = (said) => ({ sheet: { class: "sheet wait" }, said });
  if (!now) {
    const first = held.first;
    const begun = text === first.text && decade === first.decade && block === first.block && head === first.head;
    if (begun && state.at < 0) return { ...chosen, sheet: { class: "sheet" }, said: sentence(first.says[part]) };
    return waiting(weights === null ? "The model couldn’t be loaded." : "The model is loading.");
  }

  // as within a text, where a space stands before each word
  const typed = text.trim() ? now.tokensOf(` ${text.trim()}`) : [];
  const tokens = typed.slice(0, COLUMNS - 2);
  const room = typed.length > tokens.length ? `Your text has ${typed.length} tokens. The picture shows the first ${tokens.length}.` : held.room;
  const name = JSON.stringify([decade, tokens]);
  if (held.traced?.name !== name) held.traced = { name, ...now.traced({ decade, tokens }) };
  const { net, tokenizer } = now;
  const { tokens: ids, weights: shares, computed } = held.traced;
  const n = ids.length;
  const at = state.at >= 0 && state.at < n ? state.at : n - 1;

  const show = (token) => {
    const word = tokenizer.decode([token]);
    return word.trim() || (word.includes("\n") ? "¶" : "␣");
  };
  const names = ["start", `${decade}s`, ...tokens.map(show)];
  const quoted = (i) => `“${names[i]}”`;

  // numbers of one token, or of a head of it
  const D = net.width, wide = D / net.heads;
  const of = (what, b = block, i = at, width = D) => computed[`${b} ${what}`].subarray(i * width, (i + 1) * width);
  const ofHead = (what) => of(what).subarray(head * wide, (head + 1) * wide);
  const sum = (x) => x.reduce((a, b) => a + b, 0);
  const size = (x) => Math.sqrt(sum(Array.from(x, (one) => one * one)));
  const length = (x) => formatNumber(size(x));
  const pair = (x) => `(${formatNumber(x[0])}, ${formatNumber(x[1])})`;
  const rowOf = (h) => shares[at].subarray((block * net.heads + h) * (at + 1), (block * net.heads + h + 1) * (at + 1));
  const best = range(net.heads).map((h) => rowOf(h).indexOf(Math.max(...rowOf(h))));
  const row = rowOf(head);
  const scores = computed[`${block} score ${head} ${at}`];

  const read = tokens.slice(0, Math.max(0, at - 1));
  const [lens] = now.readOff(of("stream", block + 1), read, 1);
  const last = of("stream", net.blocks);
  const after = now.readOff(last, read, NEXT);
  const entering = of("stream");
  const mean = sum(entering) / D;
  const degrees = (angle) => formatNumber((angle * 180) / Math.PI);
  const whole = (x) => x.toLocaleString("en");
  const values = {
    count: typed.length,
    token: quoted(at),
    id: whole(ids[at]),
    vocabulary: whole(net.vocabulary),
    embedded: length(of("stream", 0)),
    block,
    head,
    entering: length(entering),
    attended: length(of("attended")),
    fed: length(of("fed")),
    leaving: length(of("stream", block + 1)),
    lens: `“${show(lens.token)}”`,
    lens_p: formatNumber(lens.p),
    mean: formatNumber(mean),
    std: length(entering.map((x) => (x - mean) / Math.sqrt(D))),
    query: length(ofHead("query")),
    key: length(ofHead("key")),
    value: length(ofHead("value")),
    at,
    fast: degrees(at),
    slow: degrees(at * 10000 ** (2 / wide - 1)),
    straight: pair(ofHead("query")),
    turned: pair(ofHead("turned")),
    best: quoted(best[head]),
    score: formatNumber(scores[best[head]]),
    seen: at + 1,
    all: n,
    weight: formatNumber(row[best[head]]),
    mixed: length(ofHead("mixed")),
    active: of("up", block, at, 4 * D).filter((x) => x > 0).length,
    last: length(last),
    normed: length(net.normed({ last })),
    next: `“${show(after[0].token)}”`,
    logit: formatNumber(after[0].score),
    p: formatNumber(after[0].p),
    five: formatNumber(sum(after.map(({ p }) => p))),
    ...Object.fromEntries(best.flatMap((i, h) => [[`best_${h}`, quoted(i)], [`weight_${h}`, formatNumber(rowOf(h)[i])]])),
  };
  const says = held.says.map((one) => one.replace(/\{(\w+)\}/g, (_, name) => values[name]));

  const columns = range(COLUMNS);
  const used = (i) => (i < n ? "" : "none");
  const x = (i) => GUTTER + STEP * i + 20;
  const top = (b) => `translate(0 ${BLOCKS_TOP + CLOSED * (net.blocks - 1 - b) + (b < block ? INSIDE - CLOSED : 0)})`;
  const thick = (i, b) => ({ "stroke-width": i < n ? Math.min(7, 1 + size(of("stream", b, i)) / 60).toFixed(2) : "0" });
  const short = (score) => score.toFixed(Math.abs(score) < 9.95 ? 1 : 0).replace("-0.0", "0.0").replace("-", "−");
  return {
    ...chosen,
    room,
    sheet: { class: "sheet" },
    token: columns.map((i) => ({ class: `token ${i === at ? "on" : used(i)}`.trim() })),
    word: columns.map((i) => names[i] ?? ""),
    column: { x: GUTTER + STEP * at, width: STEP },
    base: [...columns, ...columns].map((i) => ({ class: used(i) })),
    line: range(net.blocks).map((b) => columns.map((i) => thick(i, b))),
    block: range(net.blocks).map((b) => ({ transform: top(b), class: b === block ? "none" : "" })),
    detail: { transform: top(block) },
    opened: `block ${block}`,
    inside: columns.map((i) => ({ class: i === at ? "at" : i < at ? "seen" : used(i) || "later" })),
    inner: columns.map((i) => thick(i, block)),
    score: columns.map((i) => (i <= at ? short(scores[i]) : "")),
    mask: columns.map((i) => (i >= n ? "" : i <= at ? "•" : "×")),
    bar: columns.map((i) => ({ height: (i <= at ? BAR_HIGH * row[i] : 0).toFixed(1) })),
    arc: columns.map((i) => ({ d: `M${x(i)} 38C${x(i)} 14 ${x(at)} 26 ${x(at)} 4`, "stroke-width": (i <= at ? 9 * row[i] : 0).toFixed(2) })),
    name: after.map(({ token }) => show(token)),
    logit: after.map(({ score }) => formatNumber(score)),
    share: after.map(({ p }) => ({ width: (NEXT_WIDE * p).toFixed(1) })),
    p: after.map(({ p }) => formatNumber(p)),
    says,
    said: sentence(says[part]),
  };
}
