// Chooses a component and its parameters; names, meanings, bounds and papers come from the catalog's schemas.
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
  draw(field, chosen, misfits);
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

function draw(field, chosen, misfits) {
  const id = freshId("choice");
  const select = element("select", { id, "aria-describedby": `${id}-about`, onchange: () => { become(chosen, select.value); draw(field, chosen, misfits); fields.querySelector("select").focus(); } }, ...choices(field, chosen, misfits));
  const option = optionOf(field, chosen.name);
  const head = element("div", {}, element("label", { for: id }, field.title), select, about(field, option, misfits[chosen.name], `${id}-about`));
  fields.replaceChildren(head, ...option.parameters.map((each) => parameter(each, chosen)));
}

// Another component has other parameters.
function become(chosen, name) {
  for (const key of Object.keys(chosen)) delete chosen[key];
  chosen.name = name;
}

// What does not go together with the rest of the block is named with its reason, and cannot be taken.
function choices(field, chosen, misfits) {
  const entry = (option) => element("option", { value: option.name, selected: option.name === chosen.name, title: misfits[option.name] ?? null }, `${option.label} (${option.name})`);
  const fitting = field.options.filter((option) => !(option.name in misfits) || option.name === chosen.name);
  const others = field.options.filter((option) => !fitting.includes(option));
  if (others.length === 0) return fitting.map(entry);
  const refused = others.map((option) => element("option", { value: option.name, disabled: true, title: misfits[option.name] }, `${option.label}: ${misfits[option.name]}`));
  return [...fitting.map(entry), element("optgroup", { label: "Does not fit this block" }, ...refused)];
}

function about(field, option, misfit, id) {
  return element("div", { class: "about", id },
    misfit ? element("p", { class: "bad" }, misfit) : "",
    option.summary ? element("p", {}, option.summary.replaceAll("`", "")) : "",
    option.hint ? element("p", {}, option.hint) : "",
    option.paper ? element("p", {}, element("span", { class: "muted" }, "Paper "), option.paper) : "",
    option.name ? element("p", {}, element("a", { href: `/catalog#${field.of}-${option.name}`, target: "_blank" }, "In the catalog")) : "");
}

function parameter(each, chosen) {
  return each.kind === "choice" || each.kind === "boolean" ? ticks(each, chosen) : typed(each, chosen);
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
  return element("div", {}, element("div", { class: "top-line" }, element("label", { for: id }, each.title), span), input, known, element("small", { id: `${id}-note` }, notes(each, each.kind === "mapping" ? "A list in it is an axis." : "Commas make an axis.")));
}

function notes(each, last) {
  const bounds = each.options.length || !each.range ? "" : `${each.range[0].toUpperCase()}${each.range.slice(1)}.`;
  const standard = each.default === null || each.default === undefined ? "" : `Default ${shown(each.default, each)}.`;
  return [each.description, bounds, standard, last].filter(Boolean).join(" ").replaceAll("`", "");
}

// Fields that this form does not know stay as they were written.
function collect(field, name, before) {
  const value = before.name === name ? { ...before } : {};
  value.name = name;
  for (const each of optionOf(field, name).parameters) {
    const values = valuesIn(each);
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
