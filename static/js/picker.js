// Chooses one of many federations: from one list while they are few, otherwise axis by axis.
const FEW = 12;

export class Picker {
  constructor(place, chosen) {
    this.place = place;
    this.tell = chosen;
    this.options = [];
    this.value = null;
  }

  show({ options, axes = {}, chosen }) {
    this.value = chosen ?? null;
    this.place.hidden = options.length < 2;
    const drawn = JSON.stringify([options, axes]);
    if (drawn !== this.drawn) this.draw(options, axes);
    this.drawn = drawn;
    this.mark();
  }

  draw(options, axes) {
    this.options = options;
    this.axes = Object.entries(axes);
    const many = options.length > FEW && this.axes.length > 1;
    this.selects = many ? this.axes.map(([title, words], at) => this.select(title, [...new Set(words)], () => this.move(at)))
      : [this.select("Federation", options, () => this.choose(this.selects[0].value))];
    this.byAxis = many;
    this.place.replaceChildren(...this.selects.map((select) => select.parentElement));
  }

  select(title, values, changed) {
    const label = document.createElement("label");
    const made = document.createElement("select");
    for (const value of values) made.append(new Option(value));
    made.addEventListener("change", changed);
    label.append(`${title[0].toUpperCase()}${title.slice(1)} `, made);
    return made;
  }

  mark() {
    if (!this.byAxis) { this.selects[0].value = this.value; return; }
    const at = this.options.indexOf(this.value);
    this.axes.forEach(([, words], place) => { this.selects[place].value = words[at]; });
  }

  // Several blocks need not have every combination: of those with the value just chosen, the closest is taken.
  move(axis) {
    const wanted = this.selects.map((select) => select.value);
    const alike = (option) => this.axes.reduce((sum, [, words], place) => sum + (words[option] === wanted[place] ? 1 : 0), 0);
    const possible = this.options.map((_, option) => option).filter((option) => this.axes[axis][1][option] === wanted[axis]);
    this.choose(this.options[possible.reduce((best, option) => (alike(option) > alike(best) ? option : best))]);
  }

  choose(value) {
    this.value = value;
    this.tell();
  }
}
