// "What the clients hold": asked for when it is first seen, and again when the study in the editor changes.
import { axis, CONFIG, layout, painted, theme } from "./charts.js";
import { Picker } from "./picker.js";
import { post, request } from "./session.js";

const FIELDS = ["dataset", "partition", "feature_noise", "feature_noise_kind", "hybrid", "clients", "seed", "seeds"];
const LARGEST_BUBBLE = 26;
const PENDING_MS = 1500;

function element(tag, text, name = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

function plotly(url) {
  if (window.Plotly) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
}

class Portrait {
  constructor(panel) {
    this.panel = panel;
    this.picker = new Picker(panel.querySelector(".choice"), () => this.ask());
    this.words = panel.querySelector(".words");
    this.drawing = panel.querySelector(".drawing");
    this.plot = panel.querySelector(".plot");
    this.details = panel.querySelector("details");
    this.posts = "post" in panel.dataset;
    this.asked = 0;
    this.details.addEventListener("toggle", () => { if (this.details.open && !this.answer) this.ask(); });
    if (this.details.open && !this.posts) this.ask();
  }

  // Only what decides who holds what; a new learning rate draws nothing anew.
  study(study) {
    const written = Array.isArray(study.blocks) ? study.blocks : [];
    this.panel.hidden = written.length > 0 && written.every((block) => block && "app" in block);
    const blocks = written.filter((block) => !block || !("app" in block)).map((block) => Object.fromEntries(FIELDS.filter((field) => field in block).map((field) => [field, block[field]])));
    const text = JSON.stringify(blocks);
    if (text === this.text) return;
    this.text = text;
    this.blocks = blocks;
    if (this.details.open) this.ask();
    else this.answer = null;
  }

  request() {
    const of = this.panel.dataset.of ?? this.picker.value;
    if (!this.posts) return request(`${this.panel.dataset.portrait}${of ? `?of=${encodeURIComponent(of)}` : ""}`);
    return post(this.panel.dataset.portrait, { blocks: this.blocks, of });
  }

  async ask() {
    if (this.posts && !this.blocks) return;
    const turn = ++this.asked;
    const slow = setTimeout(() => this.say(["Counting what each client holds…"], "plain"), 300);
    try {
      const response = await this.request();
      if (!response.ok) throw new Error(`status ${response.status}`);
      const answer = await response.json();
      if (answer.figure) await plotly(this.panel.dataset.plotly);
      if (turn !== this.asked) return;
      if (answer.pending) this.wait(answer, turn);
      else this.show(answer);
    } catch {
      if (turn === this.asked) this.say(["The picture could not be made now; the next change tries again."], "plain");
    } finally {
      clearTimeout(slow);
    }
  }

  // It is computed in the background: asked for again until it is there.
  wait(answer, turn) {
    if (!this.panel.dataset.of) this.picker.show(answer);
    this.drawing.hidden = true;
    this.say([answer.pending], "plain");
    setTimeout(() => { if (turn === this.asked) this.ask(); }, PENDING_MS);
  }

  say(sentences, name = "") {
    this.words.replaceChildren(...sentences.map((sentence) => element("p", sentence, name)));
  }

  show(answer) {
    this.answer = answer;
    if (!this.panel.dataset.of) this.picker.show(answer);
    this.drawing.hidden = !answer.figure;
    if (!answer.figure) { this.say([answer.problem], "plain"); return; }
    this.say(answer.warnings);
    this.panel.querySelector(".caption").textContent = answer.notes;
    this.panel.querySelector(".facts").replaceChildren(...answer.facts.flatMap(({ name, value, note }) => {
      const told = element("dd", `${value} `);
      if (note) told.append(element("small", note));
      return [element("dt", name), told];
    }));
    this.showPictures(answer.pictures);
    this.draw();
  }

  showPictures(pictures) {
    const figure = this.panel.querySelector(".client-pictures");
    figure.hidden = !pictures;
    if (!pictures) return;
    figure.querySelector("figcaption").textContent = pictures.words;
    figure.querySelector(".names").replaceChildren(...pictures.rows.map((name) => element("span", name === "shared" ? name : `client ${name}`)));
    const image = figure.querySelector("img");
    image.alt = `${pictures.words}, one row each: ${pictures.rows.join(", ")}`;
    if (image.getAttribute("src") !== pictures.url) image.src = pictures.url;
  }

  draw() {
    if (!this.answer?.figure || !window.Plotly) return;
    const colours = theme();
    const { data, layout: own } = this.answer.figure;
    const drawn = layout(own, colours);
    drawn.hovermode = "closest";
    drawn.yaxis2 = axis(own.yaxis2, colours);
    this.plot.setAttribute("aria-label", this.answer.description);
    window.Plotly.react(this.plot, data.map((trace) => this.trace(trace, colours, own)), drawn, CONFIG);
  }

  trace(trace, colours, own) {
    const made = painted(trace, colours);
    if (!trace.meta.most) return made;
    const cell = Math.min(this.plot.clientWidth * 0.75 / (own.xaxis.range[1] + 1), this.plot.clientHeight * 0.55 / (own.yaxis.range[1] + 1));
    const most = Math.max(6, Math.min(LARGEST_BUBBLE, cell));
    return { ...made, marker: { ...made.marker, sizeref: 2 * trace.meta.most / most ** 2, sizemin: 1.2, opacity: 0.85 } };
  }
}

const portraits = [...document.querySelectorAll("[data-portrait]")].map((panel) => new Portrait(panel));
const written = document.getElementById("editor-start");
if (written) portraits.forEach((portrait) => portrait.study(JSON.parse(written.textContent).study));
document.addEventListener("study", (event) => portraits.forEach((portrait) => portrait.study(event.detail)));
document.addEventListener("theme", () => portraits.forEach((portrait) => portrait.draw()));
