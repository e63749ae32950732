// Small helper: element("button", {class: "add", onclick: f}, "text"). Listeners are set as properties, never as attributes.
let count = 0;

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export function freshId(prefix) {
  count += 1;
  return `${prefix}-${count}`;
}

export function errorList(messages) {
  return element("ul", { class: "errors" }, ...messages.map((message) => element("li", {}, message)));
}
