// The page Import: a table is read here, the lab says what would come of it, and takes it in parts.
// Of a Parquet file the lab makes a CSV first.
import { csrfToken, post, request } from "../session.js";
import { parseTable } from "./csv.js";
import { ROLES, guessMetric, guessRoles, readRuns } from "./mapping.js";

const RUNS_AT_ONCE = 200, BYTES_AT_ONCE = 500_000;
const SHOWN_RUNS = 20, SHOWN_VALUES = 4, PAUSE = 300;
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const kindOf = (file) => (/\.parquet$/i.test(file.name) ? "parquet" : "csv");
const find = (name) => document.querySelector(`[data-${name}]`);
const form = find("import");
let table = null, roles = {}, metrics = {}, runs = [], asked = 0, timer = 0;

function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function say(problems) {
  find("problems").hidden = !problems.length;
  find("problems").querySelector("ul").replaceChildren(...problems.map((words) => element("li", words)));
}

form.file.addEventListener("change", async () => {
  const file = form.file.files[0];
  if (!file) return;
  forget();
  const turn = ++asked, { text, problem } = await textOf(file);
  if (turn !== asked) return;
  if (problem) { say([problem]); return; }
  table = parseTable(text);
  form.study.value ||= file.name.replace(/\.[^.]*$/, "");
  roles = guessRoles(table.heads, table.rows);
  metrics = Object.fromEntries(table.heads.map((head) => [head, guessMetric(head, table.heads)]));
  showColumns();
  look();
});

async function textOf(file) {
  if (kindOf(file) === "csv") return { text: await file.text() };
  const body = new FormData();
  body.set("file", file);
  const url = form.file.dataset.parquetUrl;
  const response = await request(url, { method: "POST", headers: { "X-CSRFToken": csrfToken() }, body }).catch(() => null);
  if (!response) return { problem: "The server did not answer. Nothing is lost: choose the file again." };
  if (response.ok) return { text: await response.text() };
  const answer = await response.json().catch(() => ({}));
  return { problem: answer.detail ?? `status ${response.status}` };
}

function forget() {
  table = null;
  runs = [];
  for (const part of ["columns", "plan"]) find(part).hidden = true;
  form.querySelector("[data-go]").disabled = true;
}

form.study.addEventListener("input", later);
form.addEventListener("submit", (event) => { event.preventDefault(); bringIn(); });

function later() {
  clearTimeout(timer);
  timer = setTimeout(look, PAUSE);
}

function showColumns() {
  find("columns").hidden = false;
  find("columns").querySelector("tbody").replaceChildren(...table.heads.map((head, at) => {
    const values = [...new Set(table.rows.map(({ cells }) => cells[at] ?? ""))];
    const shown = values.slice(0, SHOWN_VALUES).join(", ") + (values.length > SHOWN_VALUES ? ", …" : "");
    const choice = element("select", "", { "aria-label": `What ${head} is` });
    choice.append(...Object.entries(ROLES).map(([role, words]) => element("option", words, { value: role })));
    choice.value = roles[head];
    const name = element("input", "", { "aria-label": `Metric in ${head}`, autocomplete: "off", maxlength: 100, value: metrics[head] });
    name.hidden = roles[head] !== "metric";
    name.addEventListener("input", () => { metrics[head] = name.value; later(); });
    choice.addEventListener("change", () => { roles[head] = choice.value; name.hidden = choice.value !== "metric"; later(); });
    const row = element("tr"), cell = element("td"), box = element("div", "", { class: "role" });
    box.append(choice, name);
    cell.append(box);
    row.append(element("td", head, { class: "mono first" }), element("td", shown), cell);
    return row;
  }));
}

async function look() {
  if (!table) return;
  const turn = ++asked, button = form.querySelector("[data-go]");
  button.disabled = true;
  const read = readRuns(table.heads, table.rows, roles, metrics, form.file.files[0].name.replace(/\.[^.]*$/, ""));
  runs = read.runs.map((run) => ({ study: form.study.value, ...run }));
  find("plan").hidden = true;
  if (read.problems.length || !runs.length) return say(read.problems.length ? read.problems : ["The table has no rows."]);
  const answers = [];
  for (const batch of batches(runs)) {
    const { problems, answer } = await send(batch, true);
    if (turn !== asked) return undefined;
    if (problems) return say(problems);
    answers.push(...answer.runs);
  }
  const changed = answers.filter(({ outcome }) => outcome === "changed");
  say(changed.length ? [`${changed.length} of the runs are in the lab with other content: take their study back first.`] : []);
  showPlan(answers);
  button.disabled = changed.length > 0 || answers.every(({ outcome }) => outcome === "known");
  return undefined;
}

function showPlan(answers) {
  const count = (outcome) => answers.filter((each) => each.outcome === outcome).length;
  const values = runs.reduce((sum, run) => sum + run.rounds.reduce((own, each) => own + Object.keys(each.metrics).length, 0), 0);
  const known = count("known") ? `, ${count("known").toLocaleString("en")} are there already` : "";
  find("plan").hidden = false;
  find("summary").textContent = `${plural(count("new"), "run")} would come in${known}; ${plural(values, "value")} in all.`;
  const above = runs.some(({ rounds }) => rounds.some((each) => each.metrics.accuracy > 1));
  find("percent").hidden = !above;
  find("plan").querySelector("tbody").replaceChildren(...answers.slice(0, SHOWN_RUNS).map(({ name, seed, outcome }, at) => {
    const { rounds, config } = runs[at], row = element("tr"), cell = element("td");
    const measured = [...new Set(rounds.flatMap((each) => Object.keys(each.metrics)))].sort().join(", ");
    const words = Object.entries(config).filter(([key]) => key !== "seed").map(([key, value]) => `${key} = ${value}`).join(", ");
    cell.append(element("span", outcome, { class: `chip ${{ new: "done", changed: "failed" }[outcome] ?? ""}` }));
    row.append(element("td", name, { class: "first" }), element("td", rounds.length, { class: "num" }), element("td", measured), element("td", seed, { class: "num" }), element("td", words, { class: "config" }), cell);
    return row;
  }));
  find("more").textContent = answers.length > SHOWN_RUNS ? `and ${(answers.length - SHOWN_RUNS).toLocaleString("en")} runs more` : "";
}

function* batches(all) {
  let batch = [], size = 0;
  for (const run of all) {
    const own = JSON.stringify(run).length;
    if (batch.length && (batch.length === RUNS_AT_ONCE || size + own > BYTES_AT_ONCE)) { yield batch; batch = []; size = 0; }
    batch.push(run);
    size += own;
  }
  if (batch.length) yield batch;
}

// A lab that is busy says how long to wait.
async function send(batch, dryRun) {
  const file = form.file.files[0], body = { kind: kindOf(file), source: file.name, runs: batch };
  for (;;) {
    const response = await post(`/api/v1/imports${dryRun ? "?dry_run=true" : ""}`, body).catch(() => null);
    if (!response) return { problems: ["The server did not answer. Nothing is lost: try again."] };
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return { answer };
    if (response.status !== 429) return { problems: answer.errors?.length ? answer.errors.slice(0, SHOWN_RUNS).map(({ message }) => message) : [answer.detail ?? `status ${response.status}`] };
    await new Promise((done) => { setTimeout(done, 1000 * Number(response.headers.get("Retry-After") ?? 1)); });
  }
}

async function bringIn() {
  const button = form.querySelector("[data-go]"), bar = find("progress");
  button.disabled = true;
  bar.hidden = false;
  bar.max = runs.length;
  bar.value = 0;
  let came = 0, study = null;
  for (const batch of batches(runs)) {
    const { problems, answer } = await send(batch, false);
    if (problems) { bar.hidden = true; button.disabled = false; return say(problems); }
    came += answer.new;
    study = answer.runs[0].study_id;
    bar.value += batch.length;
  }
  const query = new URLSearchParams({ done: study, runs: came });
  location.assign(`${location.pathname}?${query}`);
  return undefined;
}
