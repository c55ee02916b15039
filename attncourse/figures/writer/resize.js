// clone or remove words until there are `count`
(list, count) => {
  while (list.children.length > count) list.lastElementChild.remove();
  while (list.children.length < count) {
    const part = list.lastElementChild.cloneNode(true);
    const box = part.querySelector("input");
    box.checked = false;
    box.name = `cover ${list.children.length}`;
    list.append(part);
  }
}
