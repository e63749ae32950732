// One of many, found by typing: arrows move, Enter takes, Escape leaves it as it was. After the ARIA pattern "combobox".
import { element, freshId } from "./dom.js";

// A click on what lies below the list leaves the field first: it must not move away before the click has found it.
const CLICK_TIME = 200;

// `options` are {value, text, note, state, disabled}; `take` gets the value that was chosen.
export function combobox({ id, options, value, take, open = false, describedBy = null }) {
  const listId = freshId("choices");
  const now = options.find((option) => option.value === value);
  let active = null;
  const input = element("input", {
    id, role: "combobox", autocomplete: "off", spellcheck: "false", "aria-autocomplete": "list", "aria-controls": listId, "aria-expanded": "false",
    "aria-describedby": describedBy, value: now?.text ?? value ?? "", placeholder: "Type to search",
    onclick: () => show(""), oninput: () => show(input.value), onkeydown: (event) => key(event), onblur: () => setTimeout(close, CLICK_TIME),
  });
  const list = element("ul", { id: listId, class: "choices", role: "listbox", "aria-label": "Choices", hidden: true });
  const items = new Map(options.map((option) => [option, element("li", {
    id: freshId("choice"), role: "option", "aria-selected": String(option === now), "aria-disabled": option.disabled ? "true" : null,
    onpointerdown: (event) => event.preventDefault(), onclick: () => choose(option),
  }, element("span", { class: "name" }, option.text, option.state ? element("span", { class: `chip ${option.ready ? "done" : "paused"}` }, option.state) : ""), option.note ? element("small", {}, option.note) : "")]));

  // The name itself first, then what begins that way, then what has every word somewhere.
  function found(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const rank = ({ value: name, text: label }) => [name, label].map((each) => each.toLowerCase()).map((each) => (each === text.toLowerCase() ? 0 : each.startsWith(text.toLowerCase()) ? 1 : 2)).reduce((one, other) => Math.min(one, other));
    const fits = options.filter((option) => words.every((word) => `${option.value} ${option.text} ${option.note ?? ""}`.toLowerCase().includes(word)));
    return fits.sort((one, other) => Boolean(one.disabled) - Boolean(other.disabled) || (words.length ? rank(one) - rank(other) : 0));
  }

  function show(text) {
    const fitting = found(text);
    list.replaceChildren(...(fitting.length ? fitting.map((option) => items.get(option)) : [element("li", { class: "muted" }, "Nothing has these words.")]));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    activate(fitting.includes(now) && !text ? now : fitting.find((option) => !option.disabled) ?? null);
  }

  function activate(option) {
    active = option;
    for (const [each, item] of items) item.classList.toggle("active", each === option);
    if (option) { input.setAttribute("aria-activedescendant", items.get(option).id); items.get(option).scrollIntoView({ block: "nearest" }); }
    else input.removeAttribute("aria-activedescendant");
  }

  function move(step) {
    const possible = [...items].filter(([option, item]) => item.isConnected && !option.disabled).map(([option]) => option).sort((one, other) => [...list.children].indexOf(items.get(one)) - [...list.children].indexOf(items.get(other)));
    if (possible.length) activate(possible[(possible.indexOf(active) + step + possible.length) % possible.length]);
  }

  function key(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) show("");
      else move(event.key === "ArrowDown" ? 1 : -1);
    } else if (!list.hidden && (event.key === "Enter" || event.key === "Escape")) {
      event.preventDefault();
      event.stopPropagation();
      if (event.key === "Enter" && active) choose(active);
      else close();
    }
  }

  function choose(option) {
    if (option.disabled) return;
    list.hidden = true;
    take(option.value);
  }

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    input.value = now?.text ?? value ?? "";
  }

  if (open) queueMicrotask(() => { input.select(); show(""); });
  return element("div", { class: "combobox" }, input, list);
}
