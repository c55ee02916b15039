// on a phone the contents of a page lie over it: close them when a section is chosen
document.getElementById("pst-secondary-sidebar-modal")?.addEventListener("click", (event) => {
  if (event.target.closest("a")) event.currentTarget.close();
});
