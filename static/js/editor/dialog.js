// Chooses a component and its parameters; names, meanings, bounds and papers come from the catalog's schemas.
import { combobox } from "./combobox.js";
import { element, freshId } from "./dom.js";
import { rangeEntry } from "./entry.js";
import { parse, shown } from "./state.js";

const dialog = document.getElementById("value-dialog");
const title = document.getElementById("value-title");
const fields = dialog.querySelector(".dialog-fields");
dialog.querySelector("[data-cancel]").addEventListener("click", () => dialog.close("cancel"));

export function askComponent(field, value, misfits) {
  const first = field.options.find((option) => !(option.name in misfits)) ?? field.options[0];
  const chosen = { ...(value ?? { name: first.name }) };
  title.textContent = field.title;
  draw(field, chosen, misfits, { open: !value });
  return answer(() => collect(field, chosen.name, chosen));
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

function draw(field, chosen, misfits, { open = false } = {}) {
  const id = freshId("choice");
  const take = (name) => {
    if (name !== chosen.name) become(chosen, name);
    draw(field, chosen, misfits);
    fields.querySelector("input, select").focus();
  };
  const choice = combobox({ id, options: choices(field, chosen, misfits), value: chosen.name, take, open, describedBy: `${id}-about` });
  const option = optionOf(field, chosen.name);
  const head = element("div", {}, element("label", { for: id }, field.title), choice, about(field, option, misfits[chosen.name], `${id}-about`));
  fields.replaceChildren(head, ...option.parameters.map((each) => parameter(each, chosen)));
}

// Another component has other parameters.
function become(chosen, name) {
  for (const key of Object.keys(chosen)) delete chosen[key];
  chosen.name = name;
}

// What does not go together with the rest of the block is named with its reason, and cannot be taken.
function choices(field, chosen, misfits) {
  return field.options.map((option) => {
    const misfit = option.name === chosen.name ? undefined : misfits[option.name];
    const state = option.ready === undefined ? "" : option.ready ? "ready" : "not here yet";
    return { value: option.name, text: option.label === option.name ? option.name : `${option.label} (${option.name})`, note: misfit ?? option.hint, state, ready: option.ready, disabled: misfit !== undefined };
  });
}

function about(field, option, misfit, id) {
  return element("div", { class: "about", id },
    misfit ? element("p", { class: "bad" }, misfit) : "",
    option.summary ? element("p", {}, option.summary.replaceAll("`", "")) : "",
    option.hint ? element("p", {}, option.hint) : "",
    option.paper ? element("p", {}, element("span", { class: "muted" }, "Paper "), option.paper) : "",
    option.name && field.of ? element("p", {}, element("a", { href: `/catalog#${field.of}-${option.name}`, target: "_blank" }, "In the catalog")) : "");
}

function parameter(each, chosen) {
  if (each.kind === "part" && !Array.isArray(chosen[each.path])) return partLine(each, chosen[each.path] ?? each.default ?? {});
  return each.kind === "choice" || each.kind === "boolean" ? ticks(each, chosen) : typed(each, chosen);
}

// A part and its own parameters in one line; an axis of several parts is typed as mappings.
function partLine(each, value) {
  const id = freshId("part");
  const select = element("select", { id, "data-part": each.path, onchange: () => { const fresh = partLine(each, { name: select.value }); line.replaceWith(fresh); fresh.querySelector("select").focus(); } },
    ...each.options.map((option) => element("option", { value: option.name, selected: option.name === value.name, title: option.summary }, option.label)));
  const option = each.options.find((known) => known.name === value.name) ?? each.options[0];
  const inputs = option.parameters.map((own) => partParameter(each, own, value[own.path]));
  const line = element("div", { class: "part" }, element("div", {}, element("label", { for: id, title: each.description }, each.title), select), ...inputs, element("small", {}, option.summary.replaceAll("`", "")));
  return line;
}

function partParameter(each, own, value) {
  const id = freshId("parameter");
  const input = element("input", { id, name: `${each.path}.${own.path}`, autocomplete: "off", placeholder: shown(own.default, own), value: value === undefined ? "" : shown(value, own), title: notes(own, "Commas make an axis.") });
  return element("div", {}, element("label", { for: id }, own.title), input);
}

// What the line says; a part as it comes is left out of the spec.
function partIn(each) {
  const select = fields.querySelector(`[data-part="${each.path}"]`);
  if (!select) return undefined;
  const value = { name: select.value };
  for (const own of each.options.find((option) => option.name === select.value).parameters) {
    const values = parse(fields.querySelector(`[name="${each.path}.${own.path}"]`).value, own);
    if (values.length) value[own.path] = values.length === 1 && !Array.isArray(values[0]) ? values[0] : values;
  }
  return Object.keys(value).length === 1 && value.name === each.default?.name ? null : value;
}

// One ticked value is a value, several are an axis, none is the default.
function ticks(each, chosen) {
  const options = each.kind === "boolean" ? [true, false] : each.options;
  const value = chosen[each.path];
  const given = value === undefined ? [] : [value].flat();
  const boxes = options.map((option, at) => element("label", { class: "tick" }, element("input", { type: "checkbox", name: each.path, value: at, checked: given.includes(option) }), shown(option), option === each.default ? element("span", { class: "muted" }, " default") : ""));
  return element("fieldset", { class: "ticks" }, element("legend", {}, each.title), element("div", { class: "values" }, ...boxes), element("small", {}, notes(each, "Tick several to make an axis.")));
}

function typed(each, chosen) {
  const id = freshId("parameter");
  const value = chosen[each.path];
  const input = element("input", { id, name: each.path, autocomplete: "off", placeholder: shown(each.default, each), value: value === undefined ? "" : shown(value, each), "aria-describedby": `${id}-note` });
  const known = each.suggestions.length ? element("datalist", { id: `${id}-known` }, ...each.suggestions.map((value) => element("option", { value }))) : "";
  if (known) input.setAttribute("list", known.id);
  const fill = (values) => { input.value = [...parse(input.value, each), ...values].map((found) => shown(found, each)).join(", "); input.focus(); };
  const numeric = each.kind === "integer" || each.kind === "number";
  const span = numeric ? element("button", { type: "button", class: "axis", "aria-label": `${each.title}: from, to and step`, onclick: () => { span.replaceWith(); input.after(rangeEntry(each, each.title, fill)); } }, "from–to–step") : "";
  return element("div", {}, element("div", { class: "top-line" }, element("label", { for: id }, each.title), span), input, known, element("small", { id: `${id}-note` }, notes(each, each.kind === "mapping" || each.kind === "part" ? "A list in it is an axis." : "Commas make an axis.")));
}

function notes(each, last) {
  const bounds = each.options.length || !each.range ? "" : `${each.range[0].toUpperCase()}${each.range.slice(1)}.`;
  const standard = each.kind === "part" || each.default === null || each.default === undefined ? "" : `Default ${shown(each.default, each)}.`;
  return [each.description, bounds, standard, last].filter(Boolean).join(" ").replaceAll("`", "");
}

// Fields that this form does not know stay as they were written.
function collect(field, name, before) {
  const value = before.name === name ? { ...before } : {};
  value.name = name;
  for (const each of optionOf(field, name).parameters) {
    const part = each.kind === "part" ? partIn(each) : undefined;
    const values = part === undefined ? valuesIn(each) : part ? [part] : [];
    if (values.length === 0) delete value[each.path];
    else value[each.path] = values.length === 1 && !Array.isArray(values[0]) ? values[0] : values;
  }
  return value;
}

function valuesIn(each) {
  const inputs = [...fields.querySelectorAll(`[name="${each.path}"]`)];
  if (each.kind !== "choice" && each.kind !== "boolean") return parse(inputs[0]?.value ?? "", each);
  const options = each.kind === "boolean" ? [true, false] : each.options;
  return inputs.filter((input) => input.checked).map((input) => options[Number(input.value)]);
}
