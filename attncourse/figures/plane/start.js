// A word's point follows the pointer, and the arrow keys.
(form, show) => {
  const [STEP, GRID] = [0.25, 0.05];
  const words = [...form.querySelectorAll(".word")];
  const { unit, reach: [least, most] } = show().drawing();
  const put = (word, point) => {
    const i = words.indexOf(word);
    const within = point.map((one) => Math.min(most, Math.max(least, Math.round(one / GRID) * GRID)));
    ["x", "y"].forEach((name, c) => {
      form.elements[`${name}${i}`].value = Number(within[c].toFixed(2));
    });
    show();
  };
  const where = (word) => ["x", "y"].map((name) => Number(form.elements[`${name}${words.indexOf(word)}`].value));
  const begun = words.map(where);
  form.elements["put the words back"].addEventListener("click", () => {
    begun.forEach((point, i) => put(words[i], point));
  });
  let held = null;
  form.addEventListener("pointerdown", (event) => {
    const word = event.target.closest(".word");
    if (!word || event.button) return;
    held = word;
    word.setPointerCapture(event.pointerId);
  });
  form.addEventListener("pointermove", ({ clientX, clientY }) => {
    if (!held) return;
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(held.ownerSVGElement.getScreenCTM().inverse());
    put(held, [x / unit, -y / unit]);
  });
  for (const end of ["pointerup", "pointercancel"])
    form.addEventListener(end, () => {
      held = null;
    });
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
  form.addEventListener("keydown", (event) => {
    const word = event.target.closest(".word");
    const move = moves[event.key];
    if (!word || !move) return;
    event.preventDefault();
    put(word, where(word).map((one, c) => one + STEP * move[c]));
  });
}
