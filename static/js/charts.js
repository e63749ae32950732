import { endLabelRoom, endLabels } from "./end_labels.js";
import { grow, keepsCurves } from "./growing.js";
import { followCurves, isStreaming, keepPace, seenHeaders } from "./live.js";
import { ValueList } from "./value_list.js";

// Draws figures that the server computed. Colours are the theme's custom properties, so one figure serves light and dark.
// Nothing leaves the lab: the button that uploads a chart to Plotly's cloud is off, and has no address to send to.
import { request } from "./session.js";

const UNWANTED = ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"];
const CONFIG = { responsive: true, displaylogo: false, plotlyServerURL: "", modeBarButtonsToRemove: UNWANTED };
const BAND_OPACITY = 0.18;
const RESYNC = 30_000;
const REMEMBERED = 100;
const DASHES = { dash: "6 4", dot: "2 3", dashdot: "6 3 2 3", longdash: "9 4", longdashdot: "9 3 2 3" };

function theme() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: colour("ink"), soft: colour("ink-2"), line: colour("line"), strong: colour("ink-3"), panel: colour("panel"),
    series: Array.from({ length: 8 }, (_, index) => colour(`series-${index}`)), font: style.getPropertyValue("--font"),
  };
}

function faded(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${r}, ${g}, ${b}, ${BAND_OPACITY})`;
}

function mixed(one, other, share) {
  const parts = [one, other].map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return `rgb(${parts[0].map((value, at) => Math.round(value + share * (parts[1][at] - value))).join(", ")})`;
}

// A heat map goes from the panel's colour to its hue, half of the way where numbers stand upon it, so that all of them can be
// read; where its values have a unit, a scale beside it tells them.
function heated(trace, { series, panel, ink, line }) {
  const scale = { thickness: 10, outlinewidth: 0, tickfont: { color: ink, size: 11 }, tickcolor: line, title: { text: trace.meta.title ?? "", side: "top" } };
  const numbers = Boolean(trace.texttemplate);
  const deepest = numbers ? mixed(panel, series[trace.meta.hue], 0.5) : series[trace.meta.hue];
  return { ...trace, ...(numbers ? { textfont: { color: ink } } : {}), colorscale: [[0, panel], [1, deepest]], showscale: trace.meta.scale === true, colorbar: scale };
}

function painted(trace, colours) {
  if (trace.meta?.heat) return heated(trace, colours);
  const { series, ink, line: hairline } = colours;
  const colour = trace.meta?.ink ? ink : trace.meta?.muted ? hairline : series[trace.meta?.hue ?? 0];
  const line = { ...trace.line, color: trace.meta?.band ? "rgba(0, 0, 0, 0)" : colour };
  return { ...trace, line, marker: { color: colour, size: 6, ...trace.marker }, fillcolor: faded(colour) };
}

function axis(own, { line, strong, ink }) {
  return {
    gridcolor: line, linecolor: strong, tickcolor: strong, showline: true, zeroline: false, ticks: "outside", ticklen: 4,
    automargin: true, ...own, title: { standoff: 8, ...own?.title, font: { color: ink, size: 13 } },
  };
}

// Small multiples have many axes; lines across a chart and titles of panels take the theme's colours.
function axes(own, colours) {
  const names = new Set(["xaxis", "yaxis", ...Object.keys(own ?? {}).filter((name) => /^[xy]axis\d*$/.test(name))]);
  return Object.fromEntries([...names].map((name) => [name, axis(own?.[name], colours)]));
}

function across({ shapes = [], annotations = [] } = {}, { strong, soft }) {
  return {
    shapes: shapes.map((shape) => ({ ...shape, line: { color: strong, ...shape.line } })),
    annotations: annotations.map((words) => ({ ...words, font: { color: soft, size: 12, ...words.font } })),
  };
}

function layout(own, colours) {
  return {
    ...own, ...across(own, colours),
    paper_bgcolor: "rgba(0, 0, 0, 0)", plot_bgcolor: "rgba(0, 0, 0, 0)", uirevision: "kept", hovermode: own?.hovermode ?? "x unified", showlegend: false,
    font: { family: colours.font, size: 12, color: colours.ink }, margin: { t: 12, r: 12, b: 40, l: 52, ...own?.margin },
    hoverlabel: { bgcolor: colours.panel, bordercolor: colours.strong, font: { color: colours.ink, size: 12 } },
    modebar: { bgcolor: colours.panel, color: colours.strong, activecolor: colours.ink },
    ...axes(own, colours),
  };
}

// The legend is ours: it wraps, never covers or squeezes the plot, and each entry is a button that hides its line.
function swatch({ meta, line }) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const stroke = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [name, value] of Object.entries({ class: "swatch", width: 26, height: 10, "aria-hidden": "true" })) svg.setAttribute(name, value);
  for (const [name, value] of Object.entries({ class: `hue-${meta.hue}`, x1: 0, x2: 26, y1: 5, y2: 5, "stroke-dasharray": DASHES[line.dash] ?? "" })) stroke.setAttribute(name, value);
  svg.append(stroke);
  return svg;
}

class Chart {
  constructor(figure) {
    this.plot = figure.querySelector(".plot");
    this.legend = figure.querySelector(".legend");
    this.hidden = new Set();
    this.words = figure.querySelector(".waiting");
    this.caption = figure.querySelector("figcaption");
    this.url = figure.dataset.figure;
    this.pager = figure.querySelector(".pager");
    this.linesBeside = Boolean(figure.closest("[data-lines-beside]"));
    const list = figure.querySelector(".values");
    if (list) this.list = new ValueList(this, list);
    this.controls = (figure.dataset.controls ?? "").split(" ").filter(Boolean).map((id) => document.getElementById(id));
    for (const form of this.controls) form.addEventListener("submit", (event) => event.preventDefault());
    // Fields of a form may lie elsewhere on the page, such as the ticks of a table's rows.
    document.addEventListener("change", ({ target }) => {
      if (!this.controls.includes(target.form)) return;
      this.forget();
      this.refresh();
    });
    this.slow = setTimeout(() => { if (!this.answer) this.words.textContent = "Reading the curves…"; }, 300);
  }

  address() {
    const url = new URL(this.url, location.href);
    if (this.plot.closest("[data-narrow]") && this.plot.clientWidth < 560) url.searchParams.set("narrow", "1");
    if (this.page > 1) url.searchParams.set("page", String(this.page));
    for (const form of this.controls) {
      const given = new FormData(form);
      for (const name of new Set(given.keys())) {
        url.searchParams.delete(name);
        for (const value of given.getAll(name)) url.searchParams.append(name, value);
      }
    }
    return url;
  }

  // The choices of its page have changed: the same chart, of another address.
  follow(url) {
    if (url === this.url) return;
    this.url = url;
    this.page = 1;
    this.forget();
    this.refresh();
  }

  forget() {
    this.abort?.abort();
    this.busy = this.again = false;
  }

  // One request at a time; what came in meanwhile leads to one more.
  async refresh() {
    if (this.busy) { this.again = true; return; }
    this.busy = true;
    const abort = this.abort = new AbortController();
    try {
      this.stale = false;
      const response = await request(this.address(), { headers: { Accept: "application/json", ...seenHeaders() }, signal: abort.signal });
      if (!response.ok) throw new Error(`status ${response.status}`);
      keepPace(response.headers.get("X-Live-Pace"));
      this.answer = await response.json();
      clearTimeout(this.resync);
      this.resync = null;
      this.draw();
      // What was told while the answer was on its way; it has what came before.
      for (const event of told) this.grow(event);
      followCurves([...charts.values()].map((chart) => chart.answer?.live?.metric).filter(Boolean));
    } catch (error) {
      if (abort.signal.aborted) return;
      this.stale = true;
      if (!this.answer) this.words.textContent = "The curves could not be read. The next change tries again.";
    }
    this.busy = false;
    if (this.again) { this.again = false; this.refresh(); }
  }

  // Whether it is told of every change, and needs no other answer.
  get grows() {
    return Boolean(this.answer?.live) && !this.stale && isStreaming();
  }

  // From time to time the server is asked all the same: for its words, and should anything have been lost.
  grow(event) {
    if (!this.answer?.live) return;
    const result = grow(this.answer, event);
    if (result === "unclear") this.stale = true;
    if (!result) return;
    this.draw();
    this.resync ??= setTimeout(() => { this.stale = true; this.refresh(); }, RESYNC);
  }

  hear(event) {
    if (this.answer?.live && !keepsCurves(this.answer, event)) this.stale = true;
  }

  draw() {
    if (!this.answer || !window.Plotly) return;
    clearTimeout(this.slow);
    const colours = theme();
    const empty = this.answer.data.length === 0;
    this.words.textContent = empty ? this.answer.empty ?? "The first curve appears with the first evaluated round." : "";
    this.plot.style.height = this.answer.layout.height ? `${this.answer.layout.height}px` : "";
    this.plot.setAttribute("aria-label", this.answer.description);
    this.caption.textContent = this.answer.notes;
    this.drawLegend();
    this.drawPager();
    const traces = this.answer.data.map((trace) => this.trace(painted(trace, colours)));
    const room = this.list ? endLabelRoom(traces, this.answer.layout, this.plot.clientWidth) : 0;
    const own = this.list ? { ...this.answer.layout, hovermode: "x", margin: { ...this.answer.layout.margin, ...(room ? { r: room } : {}) } } : this.answer.layout;
    const drawing = window.Plotly.react(this.plot, traces, layout(own, colours), CONFIG);
    if (room) drawing.then(() => window.Plotly.relayout(this.plot, { annotations: [...(own.annotations ?? []), ...endLabels(this.plot)] }));
    if (!this.list || this.listening) return;
    this.listening = true;
    this.plot.on("plotly_hover", (event) => this.list.at(event));
    this.plot.on("plotly_unhover", () => this.list.rest());
  }

  // What the list says beside the chart no label says over it; of many bands only the one that is pointed at is drawn.
  trace(painted) {
    const label = painted.legendgroup;
    const visible = !this.hidden.has(label) && (!painted.meta?.pointed || label === this.pointed);
    const quiet = this.list && painted.name ? { hovertemplate: undefined, hoverinfo: "none" } : {};
    const opacity = this.pointed && label && label !== this.pointed ? 0.25 : 1;
    return { ...painted, ...quiet, visible, opacity };
  }

  point(label) {
    if (label === (this.pointed ?? null)) return;
    this.pointed = label;
    const traces = this.answer.data.map((trace) => this.trace(trace));
    window.Plotly.restyle(this.plot, { opacity: traces.map((trace) => trace.opacity), visible: traces.map((trace) => trace.visible) });
  }

  drawPager() {
    if (!this.pager) return;
    const { page = 1, pages = 1 } = this.answer;
    this.page = page;
    this.pager.hidden = pages < 2;
    const turn = (words, to) => {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "button small", textContent: words, disabled: to < 1 || to > pages });
      button.addEventListener("click", () => { this.page = to; this.forget(); this.refresh(); });
      return button;
    };
    this.pager.replaceChildren(turn("Page before", page - 1), `Page ${page} of ${pages}`, turn("Next page", page + 1));
  }

  drawLegend() {
    const entries = this.answer.legend;
    const drawn = JSON.stringify([entries, [...this.hidden]]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    if (this.list) return this.list.draw(entries);
    const focused = [...this.legend.children].indexOf(document.activeElement);
    this.legend.replaceChildren(...(entries.length > 1 ? entries.map((entry) => this.entry(entry)) : []));
    this.legend.children[focused]?.focus();
  }

  entry({ label, n, hue, dash, text }) {
    const button = document.createElement("button");
    button.type = "button";
    button.disabled = !n;
    button.setAttribute("aria-pressed", String(!this.hidden.has(label)));
    button.title = n ? "Show or hide this line" : "Waits for its first round";
    button.append(swatch({ meta: { hue }, line: { dash } }), (text ?? `${label} · ${n ? `n=${n}` : "waits"}`).replaceAll(" %", "\u00a0%"));
    button.addEventListener("click", () => {
      if (!this.hidden.delete(label)) this.hidden.add(label);
      this.draw();
    });
    return button;
  }
}

const charts = new Map();
const told = [];

// New figures come, and old ones go, with the parts of the page that change.
function scan() {
  for (const [figure, chart] of charts) {
    if (figure.isConnected) continue;
    clearTimeout(chart.resync);
    charts.delete(figure);
  }
  for (const figure of document.querySelectorAll("[data-figure]")) {
    if (charts.has(figure)) {
      charts.get(figure).follow(figure.dataset.figure);
      continue;
    }
    charts.set(figure, new Chart(figure));
    charts.get(figure).refresh();
  }
}

// The address of what is drawn now, without the lines that are hidden.
export function shownAddress(figure) {
  const chart = charts.get(figure);
  const url = chart ? chart.address() : new URL(figure.dataset.figure, location.href);
  for (const label of chart?.hidden ?? []) url.searchParams.append("hide", label);
  return url;
}

// The rows of a table beside a chart are its legend: the line of the one that is pointed at stands out.
function pointAtLine({ target }) {
  const label = target.closest?.("[data-line]")?.dataset.line ?? null;
  for (const chart of charts.values()) if (chart.linesBeside && chart.answer) chart.point(label);
}

export function startCharts() {
  scan();
  for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, pointAtLine);
  document.body.addEventListener("htmx:afterSwap", scan);
  document.body.addEventListener("live", () => charts.forEach((chart) => chart.grows || chart.refresh()));
  document.body.addEventListener("gap", () => charts.forEach((chart) => { chart.stale = true; }));
  document.body.addEventListener("state", ({ detail }) => charts.forEach((chart) => chart.hear(detail)));
  document.body.addEventListener("curves", ({ detail }) => {
    told.push(detail);
    if (told.length > REMEMBERED) told.shift();
    charts.forEach((chart) => chart.grow(detail));
  });
  document.addEventListener("theme", () => charts.forEach((chart) => chart.draw()));
}

export { CONFIG, axis, layout, painted, theme };
