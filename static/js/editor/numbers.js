// Fields with one value, as inputs and selects side by side. "+ value" makes a field an axis with a row of its own.
import { askComponent } from "./dialog.js";
import { element, errorList, freshId } from "./dom.js";
import { words } from "./rows.js";
import { parse, read, shown, write } from "./state.js";

export function numberFor(field, view) {
  const id = freshId("field");
  if (field.kind === "part") return partFor(field, view, id);
  const control = field.kind === "choice" || field.kind === "boolean" ? select(field, view, id) : input(field, view, id);
  const problems = element("div", { "data-errors-of": field.path });
  const axis = element("button", { type: "button", class: "add plus", "aria-label": `Add a value to ${field.title}`, title: "Add a value: it becomes an axis", onclick: () => view.makeAxis(field) }, "+");
  const made = element("div", { "data-number": field.path }, element("label", { for: id }, field.title), element("div", { class: "with-plus" }, control, axis), problems, element("small", { id: `${id}-note` }, words(field)));
  const refresh = () => {
    const messages = view.errors.at(field.path);
    problems.replaceChildren(...(messages.length ? [errorList(messages)] : []));
    control.setAttribute("aria-invalid", String(messages.length > 0));
  };
  refresh();
  return { path: field.path, element: made, refresh };
}

// A part with parameters of its own is asked for in the dialog, and becomes a row once there is one.
function partFor(field, view, id) {
  const choose = async () => {
    const value = await askComponent(field, undefined, {});
    if (value) { write(view.block, field.path, [value]); view.changed(field.path); }
  };
  const button = element("button", { id, type: "button", class: "button small", "data-path": field.path, "aria-describedby": `${id}-note`, onclick: choose }, "Choose");
  const made = element("div", { "data-number": field.path }, element("label", { for: id }, field.title), element("div", { class: "with-plus" }, button), element("small", { id: `${id}-note` }, words(field)));
  return { path: field.path, element: made, refresh: () => {} };
}

// Typing never redraws under the cursor; several values become a row once the field is left.
function input(field, view, id) {
  const value = read(view.block, field.path);
  const made = element("input", {
    id, autocomplete: "off", "data-path": field.path, value: value === undefined ? "" : shown(value, field),
    placeholder: shown(field.default, field), "aria-describedby": `${id}-note`,
    oninput: () => { write(view.block, field.path, parse(made.value, field)); view.typed(field.path); },
    onchange: () => { if (Array.isArray(read(view.block, field.path)) && field.kind !== "list") view.settled(field.path); },
  });
  return made;
}

function select(field, view, id) {
  const options = field.kind === "boolean" ? [true, false] : field.options;
  const value = read(view.block, field.path);
  const made = element("select", { id, "data-path": field.path, "aria-describedby": `${id}-note`, onchange: () => { write(view.block, field.path, made.value === "" ? [] : [options[Number(made.value)]]); view.typed(field.path); } },
    ...options.map((option, at) => (option === field.default ? element("option", { value: "" }, shown(option)) : element("option", { value: at, selected: option === value }, shown(option)))));
  return made;
}
