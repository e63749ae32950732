// The small form behind "+ value" on a number or a text: type values, or give from, to and step.
import { element, freshId } from "./dom.js";
import { rangeValues } from "./ranges.js";
import { parse, shown } from "./state.js";

// `use` gets the values; `leave` is called when nothing more is wanted. Stays open, so that one value follows another.
export function valueEntry(field, { title, start = null, use, leave }) {
  const numeric = field.kind === "integer" || field.kind === "number";
  const input = element("input", {
    class: "entry", autocomplete: "off", "aria-label": `Value for ${title}`, placeholder: numeric ? "1, 2 or 0..1 by 0.1" : "value",
    value: start === null ? "" : shown(start, field),
    onkeydown: (event) => {
      if (event.key === "Escape") { event.preventDefault(); leave(); }
      if (event.key === "Enter") { event.preventDefault(); submit(); }
    },
  });
  const submit = () => {
    const values = parse(input.value, field);
    if (values.length) use(values);
    else leave();
  };
  const done = element("button", { type: "button", class: "button small", onclick: submit }, start === null ? "Add" : "Change");
  const span = numeric && start === null ? element("button", { type: "button", class: "button small", "aria-expanded": "false", onclick: () => { span.setAttribute("aria-expanded", "true"); span.after(rangeEntry(field, title, use)); span.disabled = true; } }, "from–to–step") : "";
  const form = element("span", { class: "entry-form", role: "group", "aria-label": `New value for ${title}` }, input, done, span,
    element("button", { type: "button", class: "button small quiet", onclick: leave, "aria-label": `No value for ${title}` }, "Close"));
  return { form, input };
}

// Three numbers and how many values they make, told before they are used.
export function rangeEntry(field, title, use) {
  const boxes = Object.fromEntries(["from", "to", "step"].map((name) => [name, element("input", {
    id: freshId("range"), class: "entry number", inputmode: "decimal", autocomplete: "off", "aria-label": `${title}: ${name}`, placeholder: name,
    oninput: () => tell(),
    onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); button.click(); } },
  })]));
  const found = () => {
    const [from, to, step] = Object.values(boxes).map((box) => (box.value.trim() === "" ? NaN : Number(box.value)));
    return rangeValues(from, to, step);
  };
  const button = element("button", { type: "button", class: "button small", disabled: true, onclick: () => { const values = found(); if (values.length) use(values); } }, "Add range");
  const tell = () => {
    const count = found().length;
    button.disabled = count === 0;
    button.textContent = count === 0 ? "Add range" : `Add ${count} value${count === 1 ? "" : "s"}`;
  };
  return element("span", { class: "range-form", role: "group", "aria-label": `Range for ${title}` }, ...Object.values(boxes), button);
}
