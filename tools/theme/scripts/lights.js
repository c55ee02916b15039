// a word that names a part of a figure lights it up, on hover and focus
for (const word of document.querySelectorAll(".lights")) {
  const { part } = word.dataset;
  const light = (on) => () => {
    for (const one of document.querySelectorAll(`${word.hash} :is([data-show="${part}"], .${part})`))
      one.classList.toggle("lit", on);
  };
  for (const kind of ["mouseenter", "focus"]) word.addEventListener(kind, light(true));
  for (const kind of ["mouseleave", "blur"]) word.addEventListener(kind, light(false));
}
