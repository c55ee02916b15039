// clone or remove parts until there are `count`
(list, count) => {
  while (list.children.length > count) list.lastElementChild.remove();
  while (list.children.length < count) {
    const part = list.lastElementChild.cloneNode(true);
    const option = part.querySelector("input");
    if (option) {
      option.checked = false;
      option.value = part.dataset.at = list.children.length;
    }
    list.append(part);
  }
}
