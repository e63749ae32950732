// The grid editor: one study, seen as a form, as YAML or as the table of its runs. The server checks every draft.
import { confirmed } from "../confirmation.js";
import { post } from "../session.js";
import { BlockView } from "./block.js";
import { element } from "./dom.js";
import { Drafts } from "./drafts.js";
import { Errors } from "./errors.js";
import { focusField, problemList } from "./problems.js";
import { copy, load } from "./state.js";
import { changeList, count, duration, launchWords, lines, shape } from "./summary.js";
import { YamlView } from "./yaml.js";

const PAUSE = 200;
const MANY_RUNS = 1000;
const root = document.getElementById("editor");
const find = (selector) => document.querySelector(selector);
const kinds = load("editor-kinds");
const { like, ...start } = load("editor-start");
const button = find("[data-launch-button]");
const TRIAL_MS = 1500;
const OPTIONS = { reuse: true, shuffle: false, priority: 0, requires: "cpu" };

class Editor {
  constructor() {
    this.study = start.study;
    this.written = start.text;
    this.errors = new Errors([]);
    this.tab = "form";
    this.asked = this.version = this.answered = 0;
    this.page = 1;
    this.drafts = new Drafts(root.dataset.person);
    this.yaml = new YamlView(document, (uploaded) => { if (uploaded && this.tab !== "yaml") this.view("yaml"); this.check(); });
    this.yaml.value = start.text;
    this.listen();
    this.draw();
    this.takeUp(this.drafts.own());
    this.drafts.list(find("[data-drafts]"));
    this.ask();
  }

  // What this tab had before: after a reload, or where somebody goes on with a draft.
  takeUp(draft) {
    if (!draft) return;
    [this.study, this.written] = [draft.study, draft.text];
    this.yaml.value = draft.text;
    this.draw();
    if (draft.tab === "yaml") this.view("yaml");
    this.tellDraft(`Draft of ${new Date(draft.at).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false })} taken up again.`);
    find("[data-start-anew]").hidden = false;
  }

  // Each change is in the browser before the server is asked. Where that cannot be, leaving the page asks first.
  keep() {
    this.unsaved = !this.drafts.save({ study: this.study, text: this.tab === "yaml" ? this.yaml.value : this.written, tab: this.tab, runs: this.answer?.plan ? count(this.answer.plan.runs, "run") : "" });
    this.tellDraft(this.unsaved ? "This browser keeps no drafts: download the YAML before you leave." : "Draft saved in this browser.");
  }

  tellDraft(words) {
    find("[data-draft-state]").textContent = words;
  }

  async startAnew() {
    if (!(await confirmed("What is written here is deleted and cannot be brought back.", "Start anew"))) return;
    this.drafts.remove();
    this.unsaved = false;
    location.reload();
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
    this.keep();
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
      if (response.status === 401) { if (!calibrate) this.say("Logged out", "Log in above: what you wrote stays."); return; }
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
    find("[data-problems]").replaceChildren(...problemList(this.errors.list, { fields: this.knownFields, blocks: this.blocks.length, goTo: (place) => this.goTo(place) }));
    for (const name of ["name", "description", "tags"]) find(`[data-errors=${name}]`).replaceChildren(...this.errors.at(name).map((message) => element("li", {}, message)));
    const { notes = [], misfits = [], runs = [] } = this.answer ?? {};
    if (this.tab !== "yaml") this.blocks.forEach((view, at) => view.refresh({ errors: this.errors.block(at), notes: notes[at], misfits: misfits[at], runs: runs[at] }));
  }

  get knownFields() {
    return [...kinds.fields, ...kinds.apps.flatMap((app) => app.fields), { path: "app", title: "App" }];
  }

  goTo(place) {
    if (this.tab === "yaml" && place.line) { this.yaml.goTo(place.line); return; }
    if (this.tab !== "form") this.view("form");
    focusField(place);
  }

  // A model nothing is known of is tried out by the server while the person goes on.
  summarise({ plan, errors }, calibrated) {
    const blocked = errors.length > 0;
    const guessed = !blocked && plan?.estimate.basis === "guessed" && plan.runs > plan.reused;
    const measuring = guessed && (!calibrated || plan.calibrating);
    if (!plan) this.say(count(errors.length, "problem"), "Nothing is launched before all are solved.");
    else this.say(count(plan.runs, "run"), blocked ? `${shape(plan)} · ${count(errors.length, "problem")}` : shape(plan), lines(plan, measuring));
    button.disabled = blocked;
    button.textContent = plan && !blocked ? launchWords(plan) : "Launch";
    for (const each of document.querySelectorAll("[data-run-count]")) each.textContent = plan ? ` ${plan.runs.toLocaleString("en")}` : "";
    if (measuring && calibrated) this.timer = setTimeout(() => this.ask(true), TRIAL_MS);
    else if (measuring) this.ask(true);
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
    if (button.disabled || !(await this.manyAreMeant(this.answer.plan))) return;
    const words = button.textContent;
    button.disabled = true;
    button.textContent = "Launching…";
    const response = await post(root.dataset.launch, { study: this.study, yaml: this.yaml.value, like }).catch(() => null);
    const answer = await response?.json().catch(() => null);
    if (response?.ok) { this.drafts.remove(); this.unsaved = false; location.assign(answer.url); return; }
    if (response?.status === 401) this.refuse([{ path: "", message: "You are logged out: log in above, then launch. Nothing is lost." }]);
    else this.refuse(answer?.errors ?? [{ path: "", message: "The server did not answer. Nothing was launched: try again." }]);
    button.disabled = false;
    button.textContent = words;
  }

  manyAreMeant({ runs, reused, estimate }) {
    if (runs - reused <= MANY_RUNS) return true;
    return confirmed(`${shape({ ...this.answer.plan })}, ≈ ${duration(estimate.low_seconds, estimate.high_seconds)} of work for the lab's workers. It can be paused and cancelled.`, launchWords(this.answer.plan));
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
    find("[data-start-anew]").addEventListener("click", () => this.startAnew());
    document.addEventListener("logged-in", () => this.ask());
    window.addEventListener("beforeunload", (event) => { if (this.unsaved) event.preventDefault(); });
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

new Editor();
