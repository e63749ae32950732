// One row per field that is an axis or a component: a chip for each value, and ways to add more.
// A row is {path, element, refresh}: it is drawn when its values change; the server's answer only refreshes its words.
import { appRow } from "./app.js";
import { askComponent } from "./dialog.js";
import { element, errorList } from "./dom.js";
import { valueEntry } from "./entry.js";
import { componentText, isGiven, seedsOf, shown, size, slugText, valuesOf, write, writeSeeds } from "./state.js";

const FEW = 24;
const ENDS = [16, 2];
const MOST_SEEDS = 10_000;

export function rowFor(field, view) {
  if (field.kind === "component" || field.kind === "part") return componentRow(field, view);
  if (field.kind === "app") return appRow(field, view);
  if (field.kind === "seeds") return seedRow(field, view);
  return field.kind === "choice" || field.kind === "boolean" ? choiceRow(field, view) : valueRow(field, view);
}

// The frame of a row. `chips` are {element, at}; `also` are the paths whose problems belong to it as well.
function frame(field, view, { chips, more, fixed = "", also = [], total = chips.length }) {
  const note = element("small", {});
  const problems = element("div", { "data-errors-of": field.path });
  const made = element("div", { class: "row", "data-row": field.path },
    element("div", { class: "name" }, field.title, note),
    element("div", {}, element("div", { class: "values" }, ...folded(chips, view, field), ...more), problems));
  const refresh = () => {
    const messages = [field.path, ...also].flatMap((path) => view.errors.at(path));
    problems.replaceChildren(...(messages.length ? [errorList(messages)] : []));
    note.textContent = note.title = view.notes[field.path] ?? fixed;
    for (const chip of chips) chip.element.classList.toggle("wrong", [field.path, ...also].some((path) => view.errors.touches(path, chip.at, total)));
  };
  refresh();
  return { path: field.path, element: made, refresh };
}

// An axis of five hundred values is shown by its ends until somebody wants to see it all.
function folded(chips, view, field) {
  const elements = chips.map((chip) => chip.element);
  if (elements.length <= FEW || view.unfolded.has(field.path)) return elements;
  const hidden = elements.length - ENDS[0] - ENDS[1];
  const show = element("button", { type: "button", class: "add", onclick: () => { view.unfolded.add(field.path); view.redrawRow(field.path); } }, `… ${hidden.toLocaleString("en")} more …`);
  return [...elements.slice(0, ENDS[0]), show, ...elements.slice(-ENDS[1])];
}

function chip({ text, label, at, edit, remove, title = "", ghost = false }) {
  const made = element("span", { class: ghost ? "value ghost" : "value", title: title || null },
    element("button", { type: "button", onclick: edit, "aria-label": `Change ${label} ${text}` }, text),
    remove ? element("button", { type: "button", class: "remove", onclick: remove, "aria-label": `Remove ${label} ${text}` }, "×") : "");
  return { element: made, at };
}

function adder(field, label, onclick, text = "+ value") {
  return element("button", { type: "button", class: "add", "data-add": field.path, "aria-label": label, onclick }, text);
}

function componentRow(field, view) {
  const values = valuesOf(view.block, field.path);
  const put = (next) => { write(view.block, field.path, next); view.changed(field.path); };
  const edit = async (at) => {
    const value = await askComponent(field, values[at], view.misfits[field.path] ?? {});
    if (value) put(at === values.length ? [...values, value] : values.map((each, place) => (place === at ? value : each)));
    else view.focusAdd(field.path);
  };
  const chips = values.map((value, at) => chip({
    text: componentText(value, optionOf(field, value)), label: field.title, at, title: about(field, value),
    edit: () => edit(at), remove: () => put(values.filter((_, place) => place !== at)),
  }));
  const count = size(values);
  return frame(field, view, { chips, more: [adder(field, `Add a value to ${field.title}`, () => edit(values.length))], fixed: count > 1 ? `${count} values` : hintOf(field, values[0]) });
}

function optionOf(field, value) {
  return field.options.find((option) => option.name === value?.name);
}

function hintOf(field, value) {
  return optionOf(field, value)?.hint ?? "";
}

function about(field, value) {
  const option = optionOf(field, value);
  return [slugText(value), option?.summary, option?.paper].filter(Boolean).join("\n");
}

// Few possible values: each that is not taken is one click away.
function choiceRow(field, view) {
  const options = field.kind === "boolean" ? [true, false] : field.options;
  const given = isGiven(view.block, field.path);
  const values = given ? valuesOf(view.block, field.path) : [field.default];
  const put = (next) => { write(view.block, field.path, next); view.changed(field.path); };
  const chips = values.map((value, at) => chip({
    text: shown(value, field), label: field.title, at, ghost: !given, edit: () => view.focusAdd(field.path),
    remove: given ? () => put(values.filter((_, place) => place !== at)) : null,
  }));
  const rest = options.filter((option) => !values.includes(option));
  const more = rest.map((option) => adder(field, `Add ${shown(option)} to ${field.title}`, () => put([...values, option]), `+ ${shown(option)}`));
  return frame(field, view, { chips, more, fixed: words(field) });
}

function valueRow(field, view) {
  const given = isGiven(view.block, field.path);
  const values = given ? valuesOf(view.block, field.path) : [field.default];
  const put = (next) => { write(view.block, field.path, unique(next)); view.changed(field.path); };
  const open = view.entry?.path === field.path ? view.entry.at : null;
  const close = () => { view.entry = null; view.redrawRow(field.path); view.focusAdd(field.path); };
  const openAt = (at) => { view.entry = { path: field.path, at }; view.redrawRow(field.path); };
  const use = (at) => (found) => {
    if (at !== null) view.entry = null;
    put(at === null ? [...values, ...found] : values.flatMap((each, place) => (place === at ? found : [each])));
  };
  const chips = values.map((value, at) => (open === at && view.entry ? entryChip(field, view, { start: value, at, use: use(at), leave: close }) : chip({
    text: shown(value, field), label: field.title, at, ghost: !given, edit: () => openAt(at),
    remove: given ? () => put(values.filter((_, place) => place !== at)) : null,
  })));
  const adding = view.entry?.path === field.path && view.entry.at === null;
  const more = adding ? [entryChip(field, view, { start: null, use: use(null), leave: close }).element] : [adder(field, `Add a value to ${field.title}`, () => openAt(null))];
  return frame(field, view, { chips, more, fixed: words(field) });
}

function entryChip(field, view, { start, at, use, leave }) {
  const { form, input } = valueEntry(field, { title: field.title, start, use, leave });
  view.focusLater = input;
  return { element: form, at };
}

function unique(values) {
  const seen = new Set();
  return values.filter((value) => { const key = JSON.stringify(value); return seen.has(key) ? false : seen.add(key); });
}

function seedRow(field, view) {
  const seeds = seedsOf(view.block);
  const put = (next) => { writeSeeds(view.block, next); view.changed("seeds"); };
  const chips = seeds.map((seed, at) => {
    const made = element("span", { class: "value" }, element("span", { class: "text" }, shown(seed)),
      element("button", { type: "button", class: "remove", onclick: () => put(seeds.filter((_, place) => place !== at)), "aria-label": `Remove seed ${shown(seed)}` }, "×"));
    return { element: made, at };
  });
  const next = seeds.reduce((most, seed) => (Number.isInteger(seed) && seed >= most ? seed + 1 : most), 0);
  // Redrawing takes the input out of the page, which counts as a change of its own: nothing is different by then.
  const counted = () => {
    const number = Number(count.value);
    if (seedsOf(view.block).length === number) { refuse(""); return; }
    if (!/^\d+$/.test(count.value) || number < 1 || number > MOST_SEEDS) { refuse(`Between 1 and ${MOST_SEEDS.toLocaleString("en")} seeds: ${count.value || "nothing"} was not taken.`); return; }
    writeSeeds(view.block, Array.from({ length: number }, (_, index) => index));
    view.changed("seeds");
  };
  const count = element("input", {
    class: "entry count", inputmode: "numeric", autocomplete: "off", "aria-label": "Number of seeds", value: String(seeds.length),
    onchange: counted,
    onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); view.counting = true; counted(); } },
  });
  if (view.counting) { view.focusLater = count; view.counting = false; }
  const refusal = element("span", { class: "errors", role: "alert" });
  const refuse = (words) => { refusal.textContent = words; count.setAttribute("aria-invalid", String(words !== "")); };
  const more = [adder(field, `Add seed ${next}`, () => put([...seeds, next])), element("label", { class: "count-of" }, "seeds: ", count), refusal];
  return frame(field, view, { chips, more, fixed: "mean ± std over these", also: ["seed"], total: Math.max(2, seeds.length) });
}

export function words(field) {
  const bounds = field.options?.length ? "" : field.range;
  const text = [field.description, bounds && `${bounds[0].toUpperCase()}${bounds.slice(1)}.`].filter(Boolean).join(" ");
  return text.replaceAll("`", "");
}
