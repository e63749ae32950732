// The grid editor: one study, seen as a form, as YAML or as the table of its runs. The server checks every draft.
import { BlockView } from "./block.js";
import { element } from "./dom.js";
import { Errors } from "./errors.js";
import { copy, load } from "./state.js";
import { changeList, count, launchWords, lines, shape } from "./summary.js";
import { YamlView } from "./yaml.js";

const PAUSE = 200;
const root = document.getElementById("editor");
const find = (selector) => document.querySelector(selector);
const kinds = load("editor-kinds");
const { like, ...start } = load("editor-start");
const button = find("[data-launch-button]");
const OPTIONS = { reuse: true, shuffle: false, priority: 0, requires: "cpu" };

class Editor {
  constructor() {
    this.study = start.study;
    this.written = start.text;
    this.errors = new Errors([]);
    this.tab = "form";
    this.asked = this.version = this.answered = 0;
    this.page = 1;
    this.yaml = new YamlView(document, (uploaded) => { if (uploaded && this.tab !== "yaml") this.view("yaml"); this.check(); });
    this.yaml.value = start.text;
    this.listen();
    this.draw();
    this.ask();
  }

  draw() {
    const blocks = Array.isArray(this.study.blocks) ? this.study.blocks.filter((block) => block && typeof block === "object") : [];
    this.blocks = blocks.map((block, index) => new BlockView({ block, index, total: blocks.length, kinds, editor: this }));
    find("#blocks").replaceChildren(...this.blocks.map((block) => block.element));
    this.fillIn();
  }

  fillIn() {
    this.fill("#name", this.study.name ?? "");
    this.fill("#description", this.study.description ?? "");
    this.fill("#tags", [this.study.tags ?? []].flat().join(", "));
    for (const [name, standard] of Object.entries(OPTIONS)) {
      const control = find(`[data-option=${name}]`);
      const value = this.study[name] ?? standard;
      if (control.type === "checkbox") control.checked = value === true;
      else this.fill(`[data-option=${name}]`, String(value));
    }
  }

  fill(selector, value) {
    const control = find(selector);
    if (document.activeElement !== control) control.value = value;
  }

  addBlock(like = this.study.blocks.length - 1) {
    this.study.blocks.splice(like + 1, 0, copy(this.study.blocks[like] ?? start.study.blocks[0]));
    this.draw();
    find(`[data-block="${like + 1}"] [data-add]`)?.focus();
    this.check();
  }

  replaceBlock(index, block) {
    this.study.blocks[index] = block;
    this.draw();
    this.check();
  }

  removeBlock(index) {
    this.study.blocks.splice(index, 1);
    this.draw();
    find("[data-add-block]").focus();
    this.check();
  }

  check() {
    this.version += 1;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PAUSE);
  }

  // Whether something was changed that the server has not answered yet.
  get pending() {
    return this.answered !== this.version;
  }

  get body() {
    return this.tab === "yaml" ? { yaml: this.yaml.value, like } : { study: this.study, written: this.written, like };
  }

  async ask(calibrate = false) {
    clearTimeout(this.timer);
    const [turn, version] = [++this.asked, this.version];
    try {
      const response = await post(root.dataset.draft, { ...this.body, calibrate });
      if (!response.ok && response.status !== 413) throw new Error(`status ${response.status}`);
      const answer = await response.json();
      if (turn !== this.asked) return;
      if (!response.ok) { this.say("Too large", answer.detail); return; }
      this.answered = version;
      this.show(answer, calibrate);
    } catch {
      if (turn === this.asked && !calibrate) this.say("…", "The server did not answer; the next change tries again.");
    }
  }

  show(answer, calibrated) {
    if (this.tab === "yaml" && Array.isArray(answer.study.blocks)) this.study = answer.study;
    if (this.tab === "yaml") { this.written = answer.yaml; this.fillIn(); }
    else this.yaml.value = this.written = answer.yaml;
    this.answer = answer;
    this.errors = new Errors(answer.errors);
    this.yaml.show(answer.errors);
    this.showErrors(this.tab === "yaml" ? [] : this.errors.outside());
    this.summarise(answer, calibrated);
    if (Object.keys(like).length) find("[data-changes]").replaceChildren(...changeList(answer.changes));
    if (this.tab === "runs") this.preview();
    document.dispatchEvent(new CustomEvent("study", { detail: this.study }));
  }

  showErrors(rest) {
    find("[data-errors=rest]").replaceChildren(...rest.map((message) => element("li", {}, message)));
    for (const name of ["name", "description", "tags"]) find(`[data-errors=${name}]`).replaceChildren(...this.errors.at(name).map((message) => element("li", {}, message)));
    const { notes = [], misfits = [], runs = [] } = this.answer ?? {};
    if (this.tab !== "yaml") this.blocks.forEach((view, at) => view.refresh({ errors: this.errors.block(at), notes: notes[at], misfits: misfits[at], runs: runs[at] }));
  }

  // A model nothing is known of is tried out by the server while the person goes on.
  summarise({ plan, errors }, calibrated) {
    const blocked = errors.length > 0;
    const measuring = !blocked && !calibrated && plan?.estimate.basis === "guessed" && plan.runs > plan.reused;
    if (!plan) this.say(count(errors.length, "problem"), "Nothing is launched before all are solved.");
    else this.say(count(plan.runs, "run"), blocked ? `${shape(plan)} · ${count(errors.length, "problem")}` : shape(plan), lines(plan, measuring));
    button.disabled = blocked;
    button.textContent = plan && !blocked ? launchWords(plan) : "Launch";
    for (const each of document.querySelectorAll("[data-run-count]")) each.textContent = plan ? ` ${plan.runs.toLocaleString("en")}` : "";
    if (measuring) this.ask(true);
  }

  say(big, small, facts = []) {
    find("[data-runs]").textContent = big;
    find("[data-cells]").textContent = small;
    find("[data-facts]").replaceChildren(...facts);
    find("[data-bar]").textContent = [big, facts[0]?.firstElementChild?.textContent].filter(Boolean).join(" · ");
    if (facts.length === 0) { button.disabled = true; button.textContent = "Launch"; }
  }

  // What was typed last goes along; a text that cannot be read stays in sight, since no form could hold it.
  async turnTo(next) {
    if (this.pending) await this.ask();
    const readable = this.tab !== "yaml" || Array.isArray(this.answer?.study.blocks);
    if (this.pending || (next !== "yaml" && !readable)) return;
    this.view(next);
    this.ask();
  }

  view(next) {
    const before = this.tab;
    this.tab = next;
    this.asked += 1;
    for (const each of document.querySelectorAll("[data-tab]")) each.setAttribute("aria-pressed", String(each.dataset.tab === next));
    for (const each of document.querySelectorAll("[data-view]")) each.hidden = each.dataset.view !== next;
    if (before === "yaml" && next !== "yaml") this.draw();
    if (next === "yaml") this.yaml.number();
  }

  async preview() {
    const box = find("[data-preview-table]");
    const response = await post(root.dataset.preview, { study: this.study, page: this.page }).catch(() => null);
    if (!response?.ok) { box.replaceChildren(element("p", { class: "muted" }, "The table could not be made now; the next change tries again.")); return; }
    const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
    box.replaceChildren(...parsed.body.childNodes);
    this.page = Number(box.querySelector("[data-page-now]")?.dataset.pageNow ?? 1);
  }

  // What was typed last counts, so the draft is checked once more before it is launched.
  async launch() {
    await this.ask();
    if (button.disabled) return;
    const words = button.textContent;
    button.disabled = true;
    button.textContent = "Launching…";
    const response = await post(root.dataset.launch, { study: this.study, yaml: this.yaml.value, like }).catch(() => null);
    const answer = await response?.json().catch(() => null);
    if (response?.ok) { location.assign(answer.url); return; }
    this.refuse(answer?.errors ?? [{ path: "", message: "The server did not answer. Nothing was launched: try again." }]);
    button.disabled = false;
    button.textContent = words;
  }

  refuse(found) {
    this.errors = new Errors(found);
    const nameless = this.errors.at("name").length > 0;
    if (nameless) this.view("form");
    this.showErrors(this.errors.outside());
    if (nameless) find("#name").focus();
  }

  listen() {
    // What a person typed before this script was there is kept.
    this.study.name = find("#name").value || this.study.name;
    for (const name of ["name", "description"]) find(`#${name}`).addEventListener("input", (event) => { this.study[name] = event.target.value; this.check(); });
    find("#tags").addEventListener("input", (event) => { this.study.tags = event.target.value.split(",").map((tag) => tag.trim()).filter(Boolean); this.check(); });
    for (const [name, standard] of Object.entries(OPTIONS)) find(`[data-option=${name}]`).addEventListener("input", (event) => this.option(name, standard, event.target));
    find("[data-add-block]").addEventListener("click", () => this.addBlock());
    button.addEventListener("click", () => this.launch());
    for (const each of document.querySelectorAll("[data-tab]")) each.addEventListener("click", () => this.turnTo(each.dataset.tab));
    find("[data-preview-table]").addEventListener("click", (event) => {
      const page = event.target.closest("[data-page]")?.dataset.page;
      if (page) { this.page = Number(page); this.preview(); }
    });
  }

  option(name, standard, control) {
    const number = control.value.trim() !== "" && Number.isFinite(Number(control.value)) ? Number(control.value) : control.value;
    const value = control.type === "checkbox" ? control.checked : typeof standard === "number" ? number : control.value;
    if (value === standard || value === "") delete this.study[name];
    else this.study[name] = value;
    this.check();
  }
}

async function post(url, body) {
  const token = document.querySelector("meta[name=csrf-token]").content;
  return fetch(url, { method: "POST", headers: { "Content-Type": "application/json", "X-CSRFToken": token }, body: JSON.stringify(body) });
}

new Editor();
