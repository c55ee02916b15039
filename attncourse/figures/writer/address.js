// The state of the figure in the fragment of the address, so that it can be shared as a link.
(() => {
  const checked = (form, name, want) =>
    [...form.querySelectorAll(`input[name^="${name} "]`)].flatMap((box, i) => (box.checked === want ? [i] : []));
  const written = (form, now) => {
    const { text, decade, beside, head, side, more } = form.elements;
    const state = { write: text.value, decades: `${decade.value}.${beside.value}` };
    const lists = { covered: checked(form, "cover", true), off: checked(form, "on", false) };
    if (head.value !== "-1") state.head = head.value;
    if (side.value !== "0") state.side = side.value;
    // an older address was of a figure without that fold, which showed all of it
    if (more.value === "0") state.more = more.value;
    // sampled tokens may differ from those that the tokenizer gives their text
    const tokens = now?.tokensOf(text.value) ?? [];
    if (now && tokens.join() !== now.tokenizer.encode(text.value).join()) lists.pieces = tokens;
    for (const [name, list] of Object.entries(lists)) if (list.length) state[name] = list.join(".");
    return `#${new URLSearchParams(state)}`;
  };
  const numbers = (list) => (list ?? "").split(".").filter((one) => /^\d+$/.test(one)).map(Number);
  const read = (hash) => {
    const state = Object.fromEntries(new URLSearchParams(hash.slice(1)));
    if (state.write === undefined) return null;
    const { write, decades, covered, off, pieces, head = -1, side = 0, more } = state;
    return { text: write, decades: numbers(decades), covered: numbers(covered), off: numbers(off), pieces: numbers(pieces), head, side, more };
  };
  return { written, read };
})()
