// Draws one block: a row of chips per component, seeds, and inputs for everything else. Each change goes to `changed`.
import { element, errorList, freshId } from "./dom.js";
import { askComponent } from "./dialog.js";
import { parse, read, seedsOf, shown, size, valuesOf, write, writeSeeds } from "./state.js";

export function drawBlock({ block, index, total, fields, errors, changed, remove }) {
  const main = fields.filter((field) => field.kind !== "component" && field.main);
  const rest = fields.filter((field) => field.kind !== "component" && !field.main);
  const used = rest.some((field) => read(block, field.path) !== undefined || errors.at(field.path).length > 0);
  const context = { block, errors, changed, fields };
  return element("section", { class: "panel", "aria-label": `Block ${index + 1}`, "data-block": index },
    element("header", {}, element("h2", {}, `Block ${index + 1}`), total > 1 ? element("button", { type: "button", class: "button small danger", onclick: remove }, "Remove block") : ""),
    drawRows(context),
    element("div", { class: "numbers" }, ...main.map((field) => input(field, context))),
    element("details", { class: "fold-away", open: used, "data-more": index }, element("summary", {}, "More fields"), element("div", { class: "numbers" }, ...rest.map((field) => input(field, context)))));
}

// Everything but the inputs, so that new errors can be shown while a person types in one.
export function drawRows(context) {
  const { errors, fields } = context;
  const components = fields.filter((field) => field.kind === "component");
  const other = errors.other(fields.map((field) => field.path).concat("seeds", "seed"));
  return element("div", { class: "editor-rows" }, ...components.map((field) => componentRow(field, context)), seedRow(context), other.length ? errorList(other) : "");
}

function row(name, note, values, messages) {
  return element("div", { class: "row" }, element("div", { class: "name" }, name, note ? element("small", {}, note) : ""), element("div", {}, element("div", { class: "values" }, ...values), messages.length ? errorList(messages) : ""));
}

function chip(text, label, wrong, edit, remove) {
  return element("span", { class: wrong ? "value wrong" : "value" },
    edit ? element("button", { type: "button", onclick: edit, "aria-label": `Change ${label} ${text}` }, text) : element("button", { type: "button", disabled: true }, text),
    element("button", { type: "button", class: "remove", onclick: remove, "aria-label": `Remove ${label} ${text}` }, "×"));
}

export function componentText(value) {
  if (typeof value !== "object" || value === null) return shown(value);
  const parameters = Object.entries(value).filter(([key]) => key !== "name").map(([key, each]) => `${key.replaceAll("_", " ")} ${shown(each)}`);
  return [value.name ?? "?", ...parameters].join(" · ");
}

function componentRow(field, { block, errors, changed }) {
  const values = valuesOf(block, field.path);
  const put = (next) => { write(block, field.path, next); changed(field.path); };
  const edit = async (at) => {
    const value = await askComponent(field, values[at]);
    if (value) put(at === values.length ? [...values, value] : values.map((each, place) => (place === at ? value : each)));
  };
  const chips = values.map((value, at) => chip(componentText(value), field.title, errors.touches(field.path, at, values.length), () => edit(at), () => put(values.filter((_, place) => place !== at))));
  const add = element("button", { type: "button", class: "add", "data-add": field.path, "aria-label": `Add a value to ${field.title}`, onclick: () => edit(values.length) }, "+ value");
  return row(field.title, note(field, values), [...chips, add], errors.at(field.path));
}

function note(field, values) {
  if (size(values) > 1) return `${size(values)} values`;
  return field.options.find((option) => option.name === values[0]?.name)?.hint ?? "";
}

function seedRow({ block, errors, changed }) {
  const seeds = seedsOf(block);
  const put = (next) => { writeSeeds(block, next); changed("seeds"); };
  const chips = seeds.map((seed, at) => chip(shown(seed), "seed", errors.touches("seeds", at, 2), null, () => put(seeds.filter((_, place) => place !== at))));
  const next = seeds.reduce((most, seed) => (Number.isInteger(seed) && seed >= most ? seed + 1 : most), 0);
  const add = element("button", { type: "button", class: "add", "data-add": "seeds", "aria-label": `Add seed ${next}`, onclick: () => put([...seeds, next]) }, "+ value");
  return row("Seeds", "mean ± std over these", [...chips, add], [...errors.at("seeds"), ...errors.at("seed")]);
}

function input(field, { block, errors, changed }) {
  const id = freshId("field");
  const value = read(block, field.path);
  const messages = errors.at(field.path);
  const made = element("input", {
    id, autocomplete: "off", "data-path": field.path, value: value === undefined ? "" : shown(value, field),
    placeholder: shown(field.default, field), "aria-invalid": messages.length > 0, "aria-describedby": `${id}-note`,
    oninput: () => { write(block, field.path, parse(made.value, field)); changed(null); },
  });
  const words = [field.description, field.options.length ? field.options.join(" | ") : field.range].filter(Boolean).join(" ").replaceAll("`", "");
  return element("div", {}, element("label", { for: id }, field.title), made, element("small", { id: `${id}-note` }, words), element("div", { "data-errors-of": field.path }, messages.length ? errorList(messages) : ""));
}
