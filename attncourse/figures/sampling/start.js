// Other probabilities have a tally of their own, which begins with no draw.
(form) => {
  const { draw, "draw 100": hundreds, cleared } = form.elements;
  // before the figure shows what they are
  const clear = () => {
    if (draw.value > 0 || hundreds.value > 0) cleared.value = 1;
    draw.value = hundreds.value = 0;
  };
  form.addEventListener("input", clear, true);
}
