// The lines of a chart as a list beside it: legend, labels and what the pointer is at, sorted by value. It covers nothing.

export class ValueList {
  constructor(chart, place) {
    this.chart = chart;
    this.place = place;
    this.title = document.createElement("p");
    this.rows = document.createElement("ul");
    this.title.className = "values-at";
    place.replaceChildren(this.title, this.rows);
  }

  // At rest: every line, by its last value where that is one.
  draw(entries) {
    this.entries = new Map(entries.map((entry) => [entry.label, entry]));
    this.place.hidden = entries.length < 2;
    this.rest();
  }

  rest() {
    const known = [...this.entries.values()];
    const ended = known.every(({ last }) => last !== undefined);
    const sorted = ended ? known.toSorted((a, b) => b.last - a.last) : known;
    this.show(ended ? "Last values" : "Values where you point", sorted.map((entry) => ({ entry, text: entry.value ?? `n=${entry.n}` })));
  }

  at({ points }) {
    const here = points.filter(({ data }) => this.entries.has(data.legendgroup) && data.name);
    if (here.length === 0) return;
    const panel = here[0].data.meta?.panel ?? "";
    const x = here[0].xaxis.title?.text || this.chart.answer.layout.xaxis?.title?.text || "Round";
    const rows = here.toSorted((a, b) => b.y - a.y).map(({ data, customdata }) => ({ entry: this.entries.get(data.legendgroup), text: customdata }));
    this.show([panel, `${x} ${Number(here[0].x.toPrecision(4))}`].filter(Boolean).join(" · "), rows);
  }

  show(title, rows) {
    this.title.textContent = title;
    const focused = document.activeElement?.closest?.("li")?.dataset.label;
    this.rows.replaceChildren(...rows.map(({ entry, text }) => this.row(entry, text)));
    if (focused) [...this.rows.children].find((row) => row.dataset.label === focused)?.querySelector("button")?.focus();
  }

  row(entry, text) {
    const row = document.createElement("li");
    const value = document.createElement("span");
    value.className = "value";
    value.textContent = text;
    row.dataset.label = entry.label;
    row.append(this.chart.entry({ ...entry, text: entry.label }), value);
    row.addEventListener("pointerenter", () => this.chart.point(entry.label));
    row.addEventListener("pointerleave", () => this.chart.point(null));
    row.addEventListener("focusin", () => this.chart.point(entry.label));
    return row;
  }
}

