// One block: rows of chips for components and axes, inputs for what has one value. Each change goes to the editor.
import { fieldsOf, kindSwitch } from "./app.js";
import { element, errorList } from "./dom.js";
import { Errors } from "./errors.js";
import { numberFor } from "./numbers.js";
import { rowFor } from "./rows.js";
import { isGiven, valuesOf } from "./state.js";

const ALWAYS_ROWS = new Set(["hybrid.method", "hybrid.ratio"]);
const BEFORE_STRATEGY = "strategy";
export const SEEDS = { path: "seeds", title: "Seeds", kind: "seeds", options: [] };

export class BlockView {
  constructor({ block, index, total, kinds, editor }) {
    Object.assign(this, { block, index, total, kinds, editor, fields: fieldsOf(block, kinds) });
    this.errors = new Errors([]).block(index);
    this.notes = {};
    this.misfits = {};
    this.entry = null;
    this.unfolded = new Set();
    this.axes = new Set();
    this.draw();
  }

  isRow(field) {
    if (field.kind === "part") return isGiven(this.block, field.path);
    return field.kind === "component" || field.kind === "app" || ALWAYS_ROWS.has(field.path) || this.axes.has(field.path) || (field.kind !== "list" && valuesOf(this.block, field.path).length > 1);
  }

  draw() {
    const rows = this.ordered(this.fields.filter((field) => this.isRow(field)));
    const plain = this.fields.filter((field) => !this.isRow(field));
    const rest = plain.filter((field) => !field.main);
    const used = rest.filter((field) => isGiven(this.block, field.path)).length;
    const open = this.details?.open ?? used > 0;
    this.rows = [...rows, SEEDS].map((field) => rowFor(field, this));
    this.numbers = plain.filter((field) => field.main).map((field) => numberFor(field, this));
    this.others = rest.map((field) => numberFor(field, this));
    this.count = element("span", { class: "muted small", "data-block-runs": "" });
    this.rest = element("div", { class: "rest" });
    this.details = element("details", { class: "fold-away", open, "data-more": this.index }, element("summary", {}, "More fields", used ? element("span", { class: "muted small" }, ` ${used} set`) : ""), element("div", { class: "numbers" }, ...this.others.map((each) => each.element)));
    const made = element("section", { class: "panel", "aria-label": `Block ${this.index + 1}`, "data-block": this.index }, this.header(), element("div", { class: "editor-rows" }, ...this.rows.map((row) => row.element), this.rest), element("div", { class: "numbers" }, ...this.numbers.map((each) => each.element)), this.details);
    this.element?.replaceWith(made);
    this.element = made;
    this.tellRuns(this.runs);
    this.takeFocus();
  }

  header() {
    const remove = element("button", { type: "button", class: "button small danger", onclick: () => this.editor.removeBlock(this.index) }, "Remove block");
    const again = element("button", { type: "button", class: "button small", "aria-label": `Duplicate block ${this.index + 1}`, onclick: () => this.editor.addBlock(this.index) }, "Duplicate");
    return element("header", {}, element("h2", {}, `Block ${this.index + 1}`), this.count, kindSwitch(this), again, this.total > 1 ? remove : "");
  }

  // Components as people think of them, hybrid sharing before the strategy, then whatever else is an axis.
  ordered(fields) {
    const place = (field) => (ALWAYS_ROWS.has(field.path) ? this.fields.findIndex((each) => each.path === BEFORE_STRATEGY) - 0.5 : this.fields.indexOf(field));
    return fields.sort((one, other) => place(one) - place(other));
  }

  tellRuns(runs) {
    this.runs = runs;
    this.count.textContent = this.total > 1 && Number.isInteger(runs) ? `${runs.toLocaleString("en")} run${runs === 1 ? "" : "s"}` : "";
  }

  // A value came or went: a field may become a row or stop being one, so the block is drawn anew and the focus given back.
  changed(path) {
    const held = document.activeElement?.closest("[data-number]")?.dataset.number;
    if (valuesOf(this.block, path).length > 1) this.axes.delete(path);
    if (this.entry?.path !== path) this.entry = null;
    this.draw();
    if (held && held !== path) this.focusEnd(this.element.querySelector(`[data-number="${CSS.escape(held)}"] [data-path]`));
    else if (!this.element.contains(document.activeElement)) this.focusAdd(path);
    this.editor.check();
  }

  typed() {
    this.editor.check();
  }

  // After the click that left the field has found its target, and not while another value is being typed.
  settled(path) {
    setTimeout(() => { if (this.element.isConnected && !this.entry && !document.querySelector("dialog[open]")) this.changed(path); }, 200);
  }

  makeAxis(field) {
    this.axes.add(field.path);
    this.entry = field.kind === "choice" || field.kind === "boolean" ? null : { path: field.path, at: null };
    this.draw();
    if (!this.entry) this.focusAdd(field.path);
  }

  redrawRow(path) {
    const at = this.rows.findIndex((row) => row.path === path);
    const fresh = rowFor([...this.fields, SEEDS].find((field) => field.path === path), this);
    this.rows[at].element.replaceWith(fresh.element);
    this.rows[at] = fresh;
    this.takeFocus();
  }

  takeFocus() {
    this.focusLater?.focus();
    this.focusLater?.select();
    this.focusLater = null;
  }

  focusEnd(control) {
    control?.focus();
    if (control?.matches("input")) control.setSelectionRange(control.value.length, control.value.length);
  }

  // Where more values are added; where there are no more, at the last one; where it is no row any more, its input.
  focusAdd(path) {
    const name = CSS.escape(path);
    const places = [`[data-add="${name}"]`, `[data-row="${name}"] .value:last-of-type button`, `[data-number="${name}"] [data-path]`];
    places.map((place) => this.element.querySelector(place)).find(Boolean)?.focus();
  }

  refresh({ errors, notes, misfits, runs }) {
    Object.assign(this, { errors, notes: notes ?? {}, misfits: misfits ?? {} });
    for (const each of [...this.rows, ...this.numbers, ...this.others]) each.refresh();
    const known = this.fields.map((field) => field.path).concat("seeds", "seed");
    const other = errors.other(known);
    this.rest.replaceChildren(...(other.length ? [errorList(other)] : []));
    if (this.fields.some((field) => !field.main && field.kind !== "component" && errors.at(field.path).length)) this.details.open = true;
    this.tellRuns(runs);
  }
}
