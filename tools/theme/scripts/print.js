// paper is light: the dark scheme steps aside while the page is printed
addEventListener("beforeprint", () => {
  const root = document.documentElement;
  const shown = root.dataset.theme;
  root.dataset.theme = "light";
  addEventListener("afterprint", () => (root.dataset.theme = shown), { once: true });
});
