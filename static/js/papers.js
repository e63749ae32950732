// Figures and tables for papers: a dialog with the choices, a preview as it will be printed, and LaTeX to copy.
import { writeClipboard } from "./clipboard.js";
import { shownAddress } from "./charts.js";
import { request } from "./session.js";

const PREVIEW_DELAY = 350;
let address = null;
let waiting = 0;

const dialog = () => document.getElementById("paper-dialog");

// The file beside the chart's own address, as it is drawn now: its controls, and without the lines that are hidden.
function fileAddress(kind) {
  const url = new URL(address);
  const choices = new FormData(dialog().querySelector("[data-paper-choices]"));
  url.pathname += `.${kind}`;
  for (const [name, value] of choices) if (name !== "kind") url.searchParams.set(name, value);
  return url;
}

async function update() {
  const own = ++waiting;
  const kind = dialog().querySelector("[name=kind]").value;
  dialog().querySelector("[data-download]").href = fileAddress(kind);
  const picture = dialog().querySelector(".paper-preview img");
  const words = dialog().querySelector("[data-preview-words]");
  words.textContent = "Drawing …";
  await new Promise((resolve) => setTimeout(resolve, PREVIEW_DELAY));
  if (own !== waiting) return;
  const latex = await request(fileAddress("tex"));
  const drawn = await request(fileAddress("png"));
  if (own !== waiting || !dialog().open) return;
  dialog().querySelector("[data-field]").value = latex.ok ? await latex.text() : "";
  if (!drawn.ok) {
    words.textContent = drawn.status === 404 ? "There is nothing to draw yet." : "The figure could not be drawn. Choose fewer lines, or try again.";
    picture.hidden = true;
    return;
  }
  URL.revokeObjectURL(picture.src);
  picture.src = URL.createObjectURL(await drawn.blob());
  picture.alt = "The figure as it will be printed";
  picture.hidden = false;
  words.textContent = "";
}

function openPaper(link) {
  const figure = link.closest(".compare-chart, .chart-box")?.querySelector("[data-figure]");
  address = figure ? shownAddress(figure) : new URL(link.href.replace(/\.pdf(?=\?|$)/, ""), location.href);
  address.searchParams.delete("narrow");
  dialog().querySelector("h2").textContent = `Paper figure: ${link.dataset.paper}`;
  dialog().querySelector("[data-copied]").textContent = "";
  dialog().showModal();
  update();
}

async function openText(link) {
  const box = document.getElementById("text-dialog");
  const response = await request(link.href);
  box.querySelector("h2").textContent = link.dataset.text;
  box.querySelector("textarea").value = await response.text();
  box.querySelector("[data-download]").href = link.href;
  box.querySelector("[data-copied]").textContent = "";
  box.showModal();
  box.querySelector("textarea").select();
}

// Where the clipboard is closed, selecting and copying works all the same.
async function copy(field) {
  field.select();
  if (!(await writeClipboard(field.value))) document.execCommand("copy");
  field.closest("dialog").querySelector("[data-copied]").textContent = "Copied.";
}

function describe(figure) {
  const words = figure.querySelector(".words");
  words.textContent = figure.querySelector(".plot").getAttribute("aria-label");
  words.hidden = !words.hidden;
}

// The numbers of a chart whose controls were changed are those that are drawn.
function followControls(link) {
  const figure = link.closest(".chart-box")?.querySelector("[data-figure]");
  if (!figure) return;
  const url = shownAddress(figure);
  url.pathname += ".csv";
  link.href = url;
}

export function startPapers() {
  document.addEventListener("click", (event) => {
    const on = (name) => event.target.closest(`[data-${name}]`);
    if (on("paper") && dialog()) { event.preventDefault(); openPaper(on("paper")); }
    if (on("text")) { event.preventDefault(); openText(on("text")); }
    if (on("numbers")) followControls(on("numbers"));
    const words = event.target.closest(".chart-menu [data-words]");
    if (words) describe(words.closest(".compare-chart, .chart-box").querySelector("figure"));
    if (on("copy-field")) copy(on("copy-field").closest("dialog").querySelector("[data-field]"));
    const item = event.target.closest(".chart-menu .menu-item");
    if (item) item.closest("details").open = false;
  });
  dialog()?.querySelector("[data-paper-choices]").addEventListener("change", update);
  dialog()?.querySelector("[data-paper-choices]").addEventListener("submit", (event) => event.preventDefault());
}
