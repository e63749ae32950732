// The study as text: numbered lines, problems at their lines, and files in and out.
import { element } from "./dom.js";

const MOST = 200_000;

export class YamlView {
  constructor(root, changed) {
    this.text = root.querySelector("#yaml");
    this.gutter = root.querySelector(".gutter");
    this.list = root.querySelector("[data-errors=yaml]");
    this.name = () => root.querySelector("#name").value;
    this.marked = new Set();
    this.text.addEventListener("input", () => { this.number(); changed(); });
    this.text.addEventListener("scroll", () => { this.gutter.scrollTop = this.text.scrollTop; });
    this.text.addEventListener("dragover", (event) => event.preventDefault());
    this.text.addEventListener("drop", (event) => { const file = event.dataTransfer.files[0]; if (file) { event.preventDefault(); this.take(file, changed); } });
    root.querySelector("[data-download]").addEventListener("click", () => this.download());
    this.upload = root.querySelector("[data-upload]");
    root.querySelector("[data-upload-button]").addEventListener("click", () => this.upload.click());
    this.upload.addEventListener("change", () => { if (this.upload.files[0]) this.take(this.upload.files[0], changed); this.upload.value = ""; });
  }

  get value() {
    return this.text.value;
  }

  set value(text) {
    if (this.text.value === text) return;
    this.text.value = text;
    this.number();
  }

  number() {
    const lines = this.text.value.split("\n").length;
    const mark = (line) => element("span", { class: this.marked.has(line) ? "marked" : null }, `${line}\n`);
    this.gutter.replaceChildren(...Array.from({ length: lines }, (_, index) => mark(index + 1)));
    this.gutter.scrollTop = this.text.scrollTop;
  }

  show(errors) {
    this.marked = new Set(errors.map((each) => each.line).filter(Boolean));
    this.number();
    this.list.replaceChildren(...errors.map((each) => element("li", {}, each.line ? element("button", { type: "button", class: "link", onclick: () => this.goTo(each.line) }, `line ${each.line}`) : "", each.line ? " " : "", this.worded(each))));
  }

  worded({ path, message }) {
    return path && path !== "yaml" ? `${path}: ${message}` : message;
  }

  goTo(line) {
    const lines = this.text.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    this.text.focus();
    this.text.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  }

  async take(file, changed) {
    if (file.size > MOST) { this.list.replaceChildren(element("li", {}, `${file.name} is larger than ${MOST.toLocaleString("en")} bytes: launch it over REST instead.`)); return; }
    this.value = await file.text();
    changed(true);
  }

  download() {
    const name = this.name().toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, "") || "study";
    const url = URL.createObjectURL(new Blob([this.text.value], { type: "application/yaml" }));
    const link = element("a", { href: url, download: `${name}.yaml` });
    document.body.append(link);
    link.click();
    link.remove();
    URL.revokeObjectURL(url);
  }
}
