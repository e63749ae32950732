// Blocks about one of the lab's Flower apps: the fields are the app's own, in place of data set, model and strategy.
import { element, errorList, freshId } from "./dom.js";
import { copy, read, write } from "./state.js";

const PATH = "app.name";
const SHARED = ["seed", "seeds", "engine"];
const KINDS = { catalog: "Catalog", app: "Flower app" };
// What a block was before its kind was changed, in case it is changed back.
const before = new WeakMap();

export function isApp(block) {
  return Object.hasOwn(block, "app");
}

function appOf(block, apps) {
  const name = [read(block, PATH)].flat()[0];
  return apps.find((app) => app.name === name);
}

// Of an app that is not there any more, only what the server says of it is known.
export function fieldsOf(block, { fields, apps }) {
  return isApp(block) ? [{ path: PATH, title: "App", kind: "app", main: true, options: apps }, ...(appOf(block, apps)?.fields ?? [])] : fields;
}

// One app, chosen from those that there are. What the next one has of the config stays.
export function appRow(field, view) {
  const id = freshId("app");
  const chosen = [read(view.block, PATH)].flat();
  const known = field.options.map((app) => app.name);
  const names = [...known, ...chosen.filter((name) => !known.includes(name))];
  const select = element("select", { id, onchange: () => { choose(view, select.value); } }, ...names.map((name) => element("option", { value: name, selected: name === chosen[0] }, name)));
  const others = chosen.slice(1).map((name) => element("span", { class: "value" }, element("span", { class: "text" }, name),
    element("button", { type: "button", class: "remove", "aria-label": `Remove App ${name}`, onclick: () => { write(view.block, PATH, chosen.filter((each) => each !== name)); view.changed(PATH); } }, "×")));
  const problems = element("div", { "data-errors-of": PATH });
  const made = element("div", { class: "row", "data-row": PATH },
    element("div", { class: "name" }, element("label", { class: "plain", for: id }, field.title), element("small", {}, element("a", { href: `/apps#app-${chosen[0] ?? ""}`, target: "_blank" }, "On the page Apps"))),
    element("div", {}, element("div", { class: "values" }, select, ...others, element("span", { class: "muted small" }, appOf(view.block, field.options)?.about ?? "")), problems));
  const refresh = () => {
    const messages = view.errors.at(PATH);
    problems.replaceChildren(...(messages.length ? [errorList(messages)] : []));
    select.setAttribute("aria-invalid", String(messages.length > 0));
  };
  refresh();
  return { path: PATH, element: made, refresh };
}

function choose(view, name) {
  const block = copy(view.block);
  const next = view.kinds.apps.find((app) => app.name === name);
  const kept = { app: { name } };
  for (const field of next?.fields ?? []) {
    const value = read(block, field.path);
    if (value !== undefined) write(kept, field.path, [value].flat());
  }
  view.editor.replaceBlock(view.index, { ...kept, ...shared(block) });
}

function shared(block) {
  return Object.fromEntries(SHARED.filter((key) => key in block && (key !== "engine" || ["auto", "ray"].includes(block[key]))).map((key) => [key, block[key]]));
}

// Two buttons in the head of a block; none where the lab has no apps.
export function kindSwitch(view) {
  const { block, index, kinds, editor } = view;
  if (kinds.apps.length === 0 && !isApp(block)) return "";
  const now = isApp(block) ? "app" : "catalog";
  const turn = (kind) => {
    if (kind === now) return;
    const fresh = kind === "app" ? { app: { name: kinds.apps[0].name, clients: 10 }, ...shared(block) } : { ...copy(kinds.block), ...shared(block) };
    const next = before.get(block) ?? fresh;
    before.set(next, block);
    editor.replaceBlock(index, next);
    document.querySelector(`[data-block="${index}"] [data-kind=${kind}]`)?.focus();
  };
  const buttons = Object.entries(KINDS).map(([kind, text]) => element("button", { type: "button", "data-kind": kind, "aria-pressed": String(kind === now), disabled: kind === "app" && kinds.apps.length === 0 && now !== "app", onclick: () => turn(kind) }, text));
  return element("div", { class: "segments small", role: "group", "aria-label": `What block ${index + 1} is made of` }, ...buttons);
}
