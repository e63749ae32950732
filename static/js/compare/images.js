// Charts as pictures for papers: always in the light colours, with a legend inside, and fonts that every printer has.
import { layout, painted } from "../charts.js";

const PRINT = {
  ink: "#000000", soft: "#1c1c1c", line: "#d9dde2", strong: "#4a4a4a", panel: "#ffffff", font: "Helvetica, Arial, sans-serif",
  series: ["#0b6e8f", "#c2410c", "#6d4fb3", "#1d7a46", "#b3266b", "#7a5b00", "#3f6ad8", "#5b6670"],
};
const WIDTH = 720;
const HEIGHT = 440;
const LEGEND_LINE = 19;
const SHARPNESS = 4;

// One legend entry for each line, though it may be in many panels; lines that were hidden stay away.
function traces(answer, plot) {
  const told = new Set();
  return answer.data.map((trace, place) => {
    const first = Boolean(trace.name) && !told.has(trace.legendgroup);
    if (first) told.add(trace.legendgroup);
    const visible = plot.data?.[place]?.visible ?? true;
    return { ...painted(trace, PRINT), showlegend: first && answer.legend.length > 1, visible };
  });
}

function legendHeight(answer) {
  const entries = answer.legend.length > 1 ? answer.legend : [];
  const longest = Math.max(1, ...entries.map(({ label }) => label.length + 6));
  const across = Math.max(1, Math.floor(WIDTH / (longest * 7 + 50)));
  return Math.ceil(entries.length / across) * LEGEND_LINE;
}

function page(answer) {
  const own = layout(answer.layout, PRINT);
  const above = legendHeight(answer);
  const height = (answer.layout.height ?? HEIGHT) + above;
  const margin = { ...own.margin, t: own.margin.t + above + 8, r: Math.max(own.margin.r, 24) };
  const legend = { orientation: "h", x: 0, xanchor: "left", yref: "container", y: 1, yanchor: "top", font: { size: 12 } };
  return { ...own, height, width: WIDTH, margin, legend, showlegend: above > 0, paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", autosize: false };
}

function save(address, name) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}

async function download(panel, format) {
  const plot = panel.querySelector(".plot");
  const response = await fetch(panel.querySelector("[data-figure]").dataset.figure, { headers: { Accept: "application/json" } });
  const answer = await response.json();
  const figure = { data: traces(answer, plot), layout: page(answer) };
  const size = { format, width: WIDTH, height: figure.layout.height, scale: format === "png" ? SHARPNESS : 1 };
  save(await window.Plotly.toImage(figure, size), `${panel.id.replace("chart-", "compare-")}.${format}`);
}

export function startImages() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-image]");
    if (button) download(button.closest(".compare-chart"), button.dataset.image);
    const words = target.closest("[data-words]");
    if (words) tellInWords(words.closest(".compare-chart"));
    const chosen = target.closest(".chart-menu .menu-item");
    if (chosen) chosen.closest("details").open = false;
  });
}

function tellInWords(panel) {
  const words = panel.querySelector(".words");
  words.textContent = panel.querySelector(".plot").getAttribute("aria-label");
  words.hidden = !words.hidden;
}
