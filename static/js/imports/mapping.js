// Which column of a table is what, and the runs that follow from it. `clients/python` reads tables by the same rules.
export const ROLES = {
  run: "tells runs apart", round: "the round", metric: "a metric", config: "config: an axis", seed: "the seed",
  name: "a metric's name", value: "a metric's value", nothing: "left out",
};
const NAMES = {
  run: ["run", "run_id", "name", "experiment", "trial"],
  round: ["round", "epoch", "step", "_step", "iteration", "server_round"],
  seed: ["seed"],
};
const COMMON_METRICS = { acc: "accuracy", test_acc: "accuracy", test_accuracy: "accuracy", test_loss: "loss" };
const LEFT_OUT = ["study", "cell"];
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const LARGEST_ROUND = 2 ** 31 - 1;
const MOST_PROBLEMS = 20;

export function parseNumber(text) {
  const plain = text.trim();
  if (NUMBER.test(plain)) return Number(plain);
  if (/^[+-]?nan$/i.test(plain)) return "NaN";
  if (/^[+-]?inf(inity)?$/i.test(plain)) return plain.startsWith("-") ? "-Infinity" : "Infinity";
  return null;
}

export function parseScalar(text) {
  const number = parseNumber(text);
  if (typeof number === "number" && Number.isFinite(number)) return number;
  return { true: true, false: false }[text.toLowerCase()] ?? text;
}

export function guessRoles(heads, rows) {
  const roles = Object.fromEntries(heads.map((head) => [head, "nothing"]));
  const lower = new Map(heads.map((head) => [head.trim().toLowerCase(), head]));
  for (const [role, names] of Object.entries(NAMES)) {
    const known = names.find((name) => lower.has(name));
    if (known) roles[lower.get(known)] = role;
  }
  const long = lower.has("metric") && lower.has("value");
  if (long) { roles[lower.get("metric")] = "name"; roles[lower.get("value")] = "value"; }
  const run = heads.findIndex((head) => roles[head] === "run");
  heads.forEach((head, place) => {
    if (roles[head] !== "nothing" || head.startsWith("_") || LEFT_OUT.includes(head.toLowerCase())) return;
    const varies = variesWithinRuns(rows, place, run);
    const numbers = rows.every(({ cells }) => (cells[place] ?? "") === "" || parseNumber(cells[place]) !== null);
    if (varies && numbers && !long) roles[head] = "metric";
    else if (!varies) roles[head] = "config";
  });
  return roles;
}

function variesWithinRuns(rows, place, run) {
  const first = new Map();
  return rows.some(({ cells }) => {
    const key = run < 0 ? "" : cells[run], value = cells[place] ?? "";
    if (value === "") return false;
    if (!first.has(key)) first.set(key, value);
    return first.get(key) !== value;
  });
}

// What the lab calls it, where that is sure and no other column has the name.
export function guessMetric(head, heads) {
  const known = COMMON_METRICS[head.trim().toLowerCase()];
  return known && !heads.some((each) => each !== head && (each === known || COMMON_METRICS[each.trim().toLowerCase()] === known)) ? known : head;
}

// `metrics` has the metric's name for a column, `file` names a run where no column does.
export function readRuns(heads, rows, roles, metrics, file) {
  const places = Object.fromEntries(Object.keys(ROLES).map((role) => [role, heads.flatMap((head, at) => (roles[head] === role ? [at] : []))]));
  const named = places.metric.map((at) => metrics[heads[at]].trim()), problems = roleProblems(places, named), runs = new Map();
  if (problems.length) return { runs: [], problems };
  for (const { cells, line } of rows) {
    const name = places.run.length ? cells[places.run[0]] ?? "" : file;
    if (!runs.has(name)) runs.set(name, { name, config: {}, rounds: new Map() });
    readRow(runs.get(name), heads, cells, places, named, (words) => problems.push(`Line ${line}: ${words}`));
    if (problems.length > MOST_PROBLEMS) break;
  }
  return { runs: [...runs.values()].map(asMessage), problems: problems.slice(0, MOST_PROBLEMS) };
}

function roleProblems(places, named) {
  const problems = [];
  if (places.round.length !== 1) problems.push("Say which one column is the round.");
  for (const role of ["run", "seed", "name", "value"]) if (places[role].length > 1) problems.push(`Two columns are “${ROLES[role]}”: one can be.`);
  if (places.name.length !== places.value.length) problems.push("A metric's name and its value belong together.");
  if (named.some((name, at) => !name || named.indexOf(name) !== at)) problems.push("Each metric needs a name of its own.");
  if (!places.metric.length && !places.name.length) problems.push("Say which columns are metrics.");
  return problems;
}

function readRow(run, heads, cells, places, named, complain) {
  const text = (at) => cells[at] ?? "";
  const round = parseNumber(text(places.round[0]));
  if (!Number.isInteger(round) || round < 0 || round > LARGEST_ROUND) return complain(`“${text(places.round[0])}” is no round.`);
  for (const at of [...places.config, ...places.seed]) {
    if (text(at) === "") continue;
    const key = places.seed.includes(at) ? "seed" : heads[at], value = parseScalar(text(at));
    run.config[key] ??= value;
    if (run.config[key] !== value) complain(`${key} of run ${run.name} is ${value}, and was ${run.config[key]}.`);
  }
  const pairs = places.metric.map((at, place) => [named[place], text(at)]);
  if (places.name.length) pairs.push([text(places.name[0]), text(places.value[0])]);
  for (const [metric, value] of pairs) {
    const number = parseNumber(value);
    if (value !== "" && number === null) complain(`“${value}” is no number.`);
    if (number === null) continue;
    if (!run.rounds.has(round)) run.rounds.set(round, {});
    run.rounds.get(round)[metric] = number;
  }
  return undefined;
}

function asMessage({ name, config, rounds }) {
  const sorted = [...rounds].sort(([first], [second]) => first - second);
  return { name, config, rounds: sorted.map(([round, metrics]) => ({ round, metrics })) };
}
