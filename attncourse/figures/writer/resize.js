// as many words as are needed, each like the last one
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
