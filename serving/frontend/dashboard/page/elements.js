// Makes and changes elements. Text reaches the page through text nodes and attributes only.

const $ = (id) => document.getElementById(id);

function el(tag, properties = {}, ...children) {
  const svg = ["svg", "path", "rect", "title"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Makes the children of `parent` those of `items`, by key, so that focus and selection survive an update.
function keyed(parent, items, keyOf, make, update) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let node = old.get(key);
    if (node) old.delete(key);
    else (node = make(item)).dataset.key = key;
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
    update?.(node, item);
  }
  for (const node of old.values()) node.remove();
}

// A row with a cell for each "LABEL" or "LABEL|class".
const cells = (...labels) => el("tr", {}, ...labels.map((text) => {
  const [label, kind] = text.split("|");
  return el("td", { "data-label": label, class: kind });
}));

function stateTag(node, text, kind) {
  setText(node, text);
  node.className = "state";
  node.dataset.kind = kind;
}
