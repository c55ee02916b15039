// arcs from a word to those that it attends to; the weight on the start token is a grey stub
(strip, { at, start, shares }) => {
  const LEAST = 0.03;
  const corner = strip.getBoundingClientRect();
  const tops = [...strip.querySelectorAll(".item")].map((item) => {
    const box = item.getBoundingClientRect();
    return [box.left + box.width / 2 - corner.left, box.top - corner.top];
  });
  const path = (share, d, look) => {
    const arc = document.createElementNS("http://www.w3.org/2000/svg", "path");
    arc.setAttribute("d", d);
    arc.setAttribute("class", look);
    arc.setAttribute("style", `--share:${share.toFixed(3)}`);
    return arc;
  };
  const round = (...numbers) => numbers.map((one) => one.toFixed(1)).join(" ");
  // the page may have removed the words
  if (!tops[at]) return;
  const [x, y] = tops[at];
  const arcs = shares.flatMap((share, i) => {
    if (share <= LEAST || i > at) return [];
    // a word's weight on itself is a loop
    const [left, top, high] = i === at ? [x - 14, y, 26] : [...tops[i], 14 + Math.min(Math.abs(x - tops[i][0]) / 7, 30)];
    return path(share, `M${round(left, top)}C${round(left, top - high)} ${round(x, y - high)} ${round(x, y)}`, "arc");
  });
  if (start > LEAST) arcs.push(path(start, `M${round(x + 4, y)}l7 -16`, "stub"));
  strip.querySelector("svg").replaceChildren(...arcs);
}
