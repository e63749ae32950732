// Chooses a component and its parameters; the fields come from the catalog's schemas.
import { element, freshId } from "./dom.js";
import { parse, shown } from "./state.js";

const dialog = document.getElementById("value-dialog");
const title = document.getElementById("value-title");
const fields = dialog.querySelector(".dialog-fields");

export function askComponent(field, value) {
  const chosen = { ...(value ?? { name: field.options[0].name }) };
  title.textContent = field.title;
  draw(field, chosen);
  return answer(() => collect(field, fields.querySelector("select").value, chosen));
}

function answer(result) {
  return new Promise((resolve) => {
    dialog.returnValue = "cancel";
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok" ? result() : null), { once: true });
    dialog.showModal();
  });
}

function optionOf(field, name) {
  return field.options.find((option) => option.name === name) ?? { parameters: [], summary: "", paper: "", hint: "" };
}

function draw(field, chosen) {
  const id = freshId("choice");
  const select = element("select", { id, onchange: () => { chosen.name = select.value; draw(field, { name: select.value }); fields.querySelector("select").focus(); } },
    ...field.options.map((option) => element("option", { value: option.name, selected: option.name === chosen.name }, `${option.label} (${option.name})`)));
  const option = optionOf(field, chosen.name);
  const about = element("small", {}, [option.summary, option.hint, option.paper].filter(Boolean).join(" · "));
  fields.replaceChildren(element("div", {}, element("label", { for: id }, field.title), select, about), ...option.parameters.map((each) => parameter(each, chosen)));
}

function parameter(each, chosen) {
  const id = freshId("parameter");
  const value = chosen[each.path];
  const input = element("input", { id, name: each.path, autocomplete: "off", placeholder: shown(each.default), value: value === undefined ? "" : shown(value) });
  const notes = [each.description, each.options.length ? each.options.join(" | ") : each.range && `${each.range}.`, "Commas make an axis."].filter(Boolean).join(" ").replaceAll("`", "");
  return element("div", {}, element("label", { for: id }, each.title), input, element("small", {}, notes));
}

// Fields that this form does not know stay as they were written.
function collect(field, name, before) {
  const option = optionOf(field, name);
  const value = before.name === name ? { ...before } : {};
  value.name = name;
  for (const each of option.parameters) {
    const values = parse(fields.querySelector(`[name="${each.path}"]`)?.value ?? "", each);
    if (values.length === 0) delete value[each.path];
    else value[each.path] = values.length === 1 ? values[0] : values;
  }
  return value;
}
