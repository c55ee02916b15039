// switches to the light scheme while the page is printed
addEventListener("beforeprint", () => {
  const root = document.documentElement;
  const theme = root.dataset.theme;
  root.dataset.theme = "light";
  addEventListener("afterprint", () => (root.dataset.theme = theme), { once: true });
});
