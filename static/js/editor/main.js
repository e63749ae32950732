// The grid editor: one state, drawn as a form or as YAML. The server checks every draft; nothing is judged here.
import { drawBlock, drawRows } from "./block.js";
import { element, errorList } from "./dom.js";
import { Errors } from "./errors.js";
import { copy, load } from "./state.js";

const PAUSE = 250;
const root = document.getElementById("editor");
const find = (selector) => root.querySelector(selector) ?? document.querySelector(selector);
const fields = load("editor-fields");
const text = find("#yaml");
const button = find("[data-launch-button]");

let study = load("editor-study");
let errors = new Errors([]);
let timer = null;
let asked = 0;
let tab = "form";

function draw() {
  const open = new Set([...document.querySelectorAll("[data-more][open]")].map((each) => each.dataset.more));
  const blocks = Array.isArray(study.blocks) ? study.blocks : [];
  find("#blocks").replaceChildren(...blocks.map((block, index) => drawBlock({
    block, index, total: blocks.length, fields, errors: errors.block(index), changed,
    remove: () => { study.blocks.splice(index, 1); changed(null, true); },
  })));
  for (const each of document.querySelectorAll("[data-more]")) if (open.has(each.dataset.more)) each.open = true;
  if (document.activeElement !== find("#name")) find("#name").value = study.name ?? "";
  if (document.activeElement !== find("#tags")) find("#tags").value = (study.tags ?? []).join(", ");
}

// A change of chips redraws the rows and gives the focus back; typing in an input never redraws under the cursor.
function changed(path, redraw = path !== null) {
  const block = document.activeElement?.closest("[data-block]")?.dataset.block ?? 0;
  if (redraw) draw();
  if (path) document.querySelector(`[data-block="${block}"] [data-add="${path}"]`)?.focus();
  check();
}

function check() {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
}

async function post(url, body) {
  const token = document.querySelector("meta[name=csrf-token]").content;
  return fetch(url, { method: "POST", headers: { "Content-Type": "application/json", "X-CSRFToken": token }, body: JSON.stringify(body) });
}

async function ask() {
  const turn = ++asked;
  const body = tab === "yaml" ? { yaml: text.value } : { study };
  try {
    const response = await post(root.dataset.draft, body);
    if (!response.ok) throw new Error(`status ${response.status}`);
    const answer = await response.json();
    if (turn === asked) show(answer);
  } catch {
    if (turn === asked) say("…", "The server did not answer; the next change tries again.", "", true);
  }
}

function show(answer) {
  if (tab === "yaml" && answer.study.blocks) study = answer.study;
  if (tab === "form") text.value = answer.yaml;
  errors = new Errors(answer.errors);
  if (tab === "form") showErrors();
  const beside = tab === "yaml" ? answer.errors.map(({ path, message }) => (path === "yaml" ? message : `${path}: ${message}`)) : errors.outside();
  find("[data-errors=rest]").replaceChildren(...beside.map((message) => element("li", {}, message)));
  summarise(answer);
  document.dispatchEvent(new CustomEvent("study", { detail: study }));
}

function summarise({ plan, errors: found }) {
  if (!plan) {
    say(found.length === 1 ? "1 problem" : `${found.length} problems`, "Nothing is launched before all are solved.", "", true);
    return;
  }
  const seeds = plan.cells ? plan.runs / plan.cells : 0;
  const cells = `${plan.cells.toLocaleString("en")} cell${plan.cells === 1 ? "" : "s"}`;
  const shape = Number.isInteger(seeds) ? `${cells} × ${seeds} seed${seeds === 1 ? "" : "s"}` : cells;
  const fresh = plan.runs - plan.reused;
  say(`${plan.runs.toLocaleString("en")} run${plan.runs === 1 ? "" : "s"}`, shape, plan.reused ? `${plan.reused.toLocaleString("en")} already there, reused` : "", false);
  button.textContent = fresh === 0 ? "Launch, all reused" : `Launch ${fresh.toLocaleString("en")} run${fresh === 1 ? "" : "s"}`;
}

function say(big, small, reused, blocked) {
  find("[data-runs]").textContent = big;
  find("[data-cells]").textContent = small;
  find("[data-reused]").textContent = reused;
  button.disabled = blocked;
  if (blocked) button.textContent = "Launch";
}

// Inputs keep their place and focus: only their messages change. Rows of chips are drawn anew.
function showErrors() {
  for (const holder of document.querySelectorAll("[data-errors-of]")) {
    const index = Number(holder.closest("[data-block]").dataset.block);
    const messages = errors.block(index).at(holder.dataset.errorsOf);
    holder.replaceChildren(...(messages.length ? [errorList(messages)] : []));
    holder.parentElement.querySelector("input").setAttribute("aria-invalid", String(messages.length > 0));
  }
  for (const name of ["name", "tags"]) find(`[data-errors=${name}]`).replaceChildren(...errors.at(name).map((message) => element("li", {}, message)));
  for (const panel of document.querySelectorAll("[data-block]")) redrawRows(panel, Number(panel.dataset.block));
}

function redrawRows(panel, index) {
  const rows = panel.querySelector(".editor-rows");
  const label = rows.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  const fresh = drawRows({ block: study.blocks[index], errors: errors.block(index), changed, fields });
  rows.replaceWith(fresh);
  if (label) [...fresh.querySelectorAll("[aria-label]")].find((each) => each.getAttribute("aria-label") === label)?.focus();
}

function view(next) {
  tab = next;
  for (const each of document.querySelectorAll("[data-tab]")) each.setAttribute("aria-pressed", String(each.dataset.tab === tab));
  for (const each of document.querySelectorAll("[data-view]")) each.hidden = each.dataset.view !== tab;
  if (tab === "form") draw();
}

// What was typed last counts, so the draft is checked once more before it is launched.
async function launch() {
  clearTimeout(timer);
  await ask();
  if (button.disabled) return;
  const words = button.textContent;
  button.disabled = true;
  button.textContent = "Launching…";
  const response = await post(root.dataset.launch, { study }).catch(() => null);
  const answer = await response?.json().catch(() => null);
  if (response?.ok) return location.assign(answer.url);
  refuse(answer?.errors ?? [{ path: "", message: "The server did not answer. Nothing was launched: try again." }]);
  button.disabled = false;
  button.textContent = words;
}

function refuse(found) {
  errors = new Errors(found);
  find("[data-errors=rest]").replaceChildren(...errors.outside().map((message) => element("li", {}, message)));
  const nameless = errors.at("name").length > 0;
  if (nameless) view("form");
  if (tab === "form") showErrors();
  if (nameless) find("#name").focus();
}

// What a person typed before this script was there is kept.
study.name = find("#name").value || study.name;
find("#name").addEventListener("input", (event) => { study.name = event.target.value; check(); });
find("#tags").addEventListener("input", (event) => {
  study.tags = event.target.value.split(",").map((tag) => tag.trim()).filter(Boolean);
  check();
});
find("[data-add-block]").addEventListener("click", () => { study.blocks.push(copy(study.blocks.at(-1))); changed(null, true); });
text.addEventListener("input", check);
button.addEventListener("click", launch);
for (const each of document.querySelectorAll("[data-tab]")) each.addEventListener("click", () => { view(each.dataset.tab); ask(); });
draw();
ask();
