// a section that has moved from a chapter to what goes deeper: its address leads there
{
  function forward() {
    const anchor = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const link = anchor?.closest("ul.deeper > li")?.querySelector("a");
    if (link) location.replace(link.href.split("#")[0] + location.hash);
  }

  addEventListener("hashchange", forward);
  forward();
}
