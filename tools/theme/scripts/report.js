// Adds the section in view, that of the last heading above the middle of the window, to the link
// that reports an error, before a click, a touch, a key or a menu follows it.
(() => {
  const link = document.querySelector("a.report");

  function addSection() {
    const url = new URL(link.href);
    const address = new URL(url.searchParams.get("address"));
    // the 404 page reports the address that was asked for
    if (address.origin === location.origin) address.pathname = location.pathname;
    const headings = document.querySelectorAll("article section[id] > :is(h1, h2, h3, h4)");
    const above = [...headings].filter((heading) => heading.getBoundingClientRect().top < innerHeight / 2);
    const heading = above.at(-1);
    if (heading) {
      address.hash = heading.parentElement.id;
      url.searchParams.set("section", heading.textContent.replace(/#$/, ""));
    }
    url.searchParams.set("address", address);
    link.href = url;
  }

  for (const kind of ["pointerdown", "focus", "click"]) link?.addEventListener(kind, addSection);
})();
