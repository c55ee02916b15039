// Clears the tally when the probabilities change.
(form) => {
  const { draw, "draw 100": hundreds, cleared } = form.elements;
  // in the capture phase, before the figure is updated
  const clear = () => {
    if (draw.value > 0 || hundreds.value > 0) cleared.value = 1;
    draw.value = hundreds.value = 0;
  };
  form.addEventListener("input", clear, true);
}
