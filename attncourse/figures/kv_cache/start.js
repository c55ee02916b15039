// the buttons go from step to step; the weights are loaded on first use
(form, show, { late }) => {
  const { text, written } = form.elements;
  const steps = {
    "read the prompt": () => 0,
    "write a token": () => Number(written.value) + 1,
    empty: () => -1,
  };
  form.addEventListener("click", ({ target }) => {
    if (!(target.name in steps)) return;
    written.value = steps[target.name]();
    show();
    // a button that has no effect any more cannot keep the focus
    if (target.disabled) form.elements["read the prompt"].focus();
  });
  // what another prompt needs has not been computed
  text.addEventListener("input", () => {
    written.value = -1;
  }, true);
  late(form, "attncourseEnglish", show);
}
