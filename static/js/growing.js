// Goes on with the curves of a chart as rounds are told, without asking the server: mean and spread over seeds, value by value.
// `live` is what the server gave with the figure (experiments/charts/live_curves.py), in stored units.
const MARKED_POINTS = 40;
const EVEN = 1e-6;
const HUGE = 1e15;

const format = (live, value) => (Math.abs(value) < HUGE ? value.toFixed(live.digits) : value.toPrecision(3));
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

// Takes what is new of it. "drawn": lines have new points; "unclear": only the server can tell; otherwise nothing changed.
export function grow(figure, { runs }) {
  const { live } = figure;
  const changed = new Set();
  let unclear = false;
  for (const [run, told] of Object.entries(runs)) {
    const place = live.runs[run];
    const values = told.values[live.metric];
    if (!place || !values) {
      unclear ||= Boolean(place) || live.whole;
      continue;
    }
    told.rounds.forEach((round, at) => {
      if (round <= place[1]) return;
      place[1] = round;
      if (typeof values[at] === "string") unclear = true;
      else if (values[at] !== null) changed.add(add(live, place[0], round, values[at]));
    });
  }
  if (changed.size && !figure.data.length) unclear = true;
  for (const line of figure.data.length ? changed : []) redraw(figure, line);
  return unclear ? "unclear" : changed.size ? "drawn" : "";
}

// Whether a run's change leaves the curves as they are.
export function keepsCurves({ live }, { run, state, rounds_done: done, rounds_total: total }) {
  if (!live.runs[run]) return !live.whole || state === "done";
  if (state === "running") return true;
  if (state !== "done" || done !== total) return false;
  delete live.runs[run];
  return Object.keys(live.runs).length > 0;
}

function add(live, label, round, value) {
  const line = live.lines.find((each) => each.label === label);
  let at = line.rounds.length;
  while (at > 0 && line.rounds[at - 1] > round) at -= 1;
  if (at > 0 && line.rounds[at - 1] === round) {
    join(line, at - 1, value);
    return line;
  }
  const fresh = { rounds: round, n: 1, means: value, stds: null, lows: value, highs: value };
  for (const [name, first] of Object.entries(fresh)) line[name].splice(at, 0, first);
  return line;
}

function join(line, at, value) {
  const n = line.n[at] + 1;
  const before = value - line.means[at];
  const squares = (line.stds[at] ?? 0) ** 2 * (n - 2);
  line.n[at] = n;
  line.means[at] += before / n;
  line.stds[at] = Math.sqrt((squares + before * (value - line.means[at])) / (n - 1));
  line.lows[at] = Math.min(line.lows[at], value);
  line.highs[at] = Math.max(line.highs[at], value);
}

function bandAt(live, line, at) {
  const { n: { [at]: n }, means: { [at]: mean }, stds: { [at]: std } } = line;
  if (live.band === "none" || n < 2) return null;
  const [low, high] = live.band === "range" ? [line.lows[at], line.highs[at]] : [mean - std, mean + std];
  return [Math.max(low, live.lowest ?? -Infinity) * live.scale, Math.min(high, live.highest ?? Infinity) * live.scale];
}

function words(live, mean, band, n) {
  if (!band) return `${format(live, mean)} · n=${n}`;
  const [low, high] = band;
  const uneven = Math.abs(high - mean - (mean - low)) > EVEN * (high - low);
  const spread = uneven ? ` (${format(live, low)} to ${format(live, high)})` : ` ± ${format(live, (high - low) / 2)}`;
  return `${format(live, mean)}${spread} · n=${n}`;
}

function range(counts) {
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? String(most) : `${least}–${most}`;
}

function redraw(figure, line) {
  const { live } = figure;
  const n = range(line.n);
  const bands = line.rounds.map((_, at) => bandAt(live, line, at));
  const means = line.means.map((mean) => mean * live.scale);
  const marked = live.marked && means.length <= MARKED_POINTS;
  const trace = {
    type: "scatter", name: `${escaped(line.label)} · n=${n}`, legendgroup: line.label, x: [...line.rounds], y: means,
    mode: means.length < 2 ? "markers" : marked ? "lines+markers" : "lines", ...(marked && means.length > 1 ? { marker: { size: 5 } } : {}),
    customdata: means.map((mean, at) => words(live, mean, bands[at], line.n[at])), hovertemplate: `${escaped(line.label)}: %{customdata}<extra></extra>`,
    line: { dash: line.dash, width: 2 }, meta: { hue: line.hue },
  };
  const others = figure.data.filter((each) => each.legendgroup !== line.label);
  const isBand = (each) => Boolean(each.meta?.band);
  const outline = bands.some(Boolean) ? [bandTrace(line, bands)] : [];
  figure.data = [...others.filter(isBand), ...outline, ...inOrder(figure, [...others.filter((each) => !isBand(each)), trace])];
  const entry = figure.legend.find(({ label }) => label === line.label);
  if (entry) entry.n = n;
}

function inOrder({ legend }, traces) {
  const places = new Map(legend.map(({ label }, place) => [label, place]));
  return traces.toSorted((one, other) => places.get(one.legendgroup) - places.get(other.legendgroup));
}

// One closed outline for each stretch of rounds that has a band; gaps lie between them.
function bandTrace(line, bands) {
  const [x, y] = [[], []];
  for (let at = 0; at < bands.length; at += 1) {
    if (!bands[at]) continue;
    let end = at;
    while (bands[end + 1]) end += 1;
    const there = line.rounds.slice(at, end + 1);
    if (x.length) for (const gap of [x, y]) gap.push(null);
    x.push(...there, ...there.toReversed());
    y.push(...bands.slice(at, end + 1).map(([, high]) => high), ...bands.slice(at, end + 1).map(([low]) => low).reverse());
    at = end;
  }
  return { type: "scatter", mode: "lines", fill: "toself", legendgroup: line.label, showlegend: false, hoverinfo: "skip", x, y, line: { width: 0 }, meta: { hue: line.hue, band: true } };
}
