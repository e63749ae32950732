// The right column: how many runs, how long, how much, and what is reused.
import { element } from "./dom.js";

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
const BASES = {
  measured: "from runs like these",
  calibrated: "from a quick trial on this machine",
  guessed: "a rough guess: nothing like it has run here yet",
};

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

// "8–11 min", "50 s – 2 min": at most two figures of each end, since it is an estimate.
export function duration(low, high) {
  const [size, unit] = UNITS.find(([seconds]) => high >= seconds * 1.5) ?? UNITS.at(-1);
  const ends = [low, high].map((seconds) => rounded(seconds / size));
  if (ends[1] === "0") return "under a second";
  if (ends[0] === ends[1]) return `${ends[1]} ${unit}`;
  if (low / size < 0.95) return `${single(low)} – ${ends[1]} ${unit}`;
  return `${ends[0]}–${ends[1]} ${unit}`;
}

function single(seconds) {
  const [size, unit] = UNITS.find(([each]) => seconds >= each) ?? UNITS.at(-1);
  return `${rounded(Math.max(1, seconds / size))} ${unit}`;
}

function rounded(value) {
  return value < 10 ? String(Math.round(value)) : Math.round(Number(value.toPrecision(2))).toLocaleString("en");
}

export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, number)) / 3)));
  const value = number / 1000 ** step;
  return `${value < 10 && step ? value.toFixed(1) : Math.round(value)} ${units[step]}`;
}

export function shape(plan) {
  const seeds = plan.cells ? plan.runs / plan.cells : 0;
  const cells = count(plan.cells, "cell");
  return Number.isInteger(seeds) ? `${cells} × ${count(seeds, "seed")}` : cells;
}

function timeLine({ runs, reused, estimate }, measuring) {
  if (runs === reused) return element("li", {}, "Nothing to compute: the study is done at once");
  const where = estimate.workers ? `on ${count(estimate.workers, "worker")}` : "on one worker; none is there now";
  return element("li", { title: BASES[estimate.basis] }, "≈ ", element("strong", {}, duration(estimate.low_seconds, estimate.high_seconds)), ` ${where}`,
    element("span", { class: "sub" }, measuring ? "measuring on this machine…" : BASES[estimate.basis]),
    estimate.other_runs ? element("span", { class: "sub" }, `allowing for ${count(estimate.other_runs, "run")} that wait or run already`) : "");
}

export function lines(plan, measuring) {
  return [
    timeLine(plan, measuring),
    plan.reused ? element("li", {}, element("strong", {}, plan.reused.toLocaleString("en")), " already there, reused") : "",
    plan.bytes && element("li", {}, element("strong", {}, bytes(plan.bytes)), " would cross the network in a real deployment"),
    ...plan.warnings.map((warning) => element("li", { class: "note warning" }, warning)),
  ].filter(Boolean);
}

export function launchWords(plan) {
  const fresh = plan.runs - plan.reused;
  return fresh === 0 ? "Launch, all reused" : `Launch ${count(fresh, "run")}`;
}

// "Same but ...": each field with what went and what came.
export function changeList(changes) {
  if (changes.length === 0) return [element("p", { class: "muted small" }, "Nothing is different yet.")];
  const worded = (values, tag) => values.flatMap((value) => [element(tag, {}, value), " "]);
  return [element("dl", { class: "changes" }, ...changes.flatMap((change) => [element("dt", { title: change.path }, change.title), element("dd", {}, ...worded(change.before, "del"), ...worded(change.after, "ins"))]))];
}
