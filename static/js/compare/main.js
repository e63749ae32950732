// Compare: choices go into the address without empty ones, and only what depends on them is drawn anew.
import { morph } from "../morph.js";
import { startDialogs } from "./dialogs.js";

const form = document.querySelector("form[data-compare]");
let request = null;

function chosenQuery() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "" && name !== "q") query.append(name, value);
  return query;
}

// Charts ask for their part at once; controls, table and links come with the page, in which nothing else is touched.
async function update() {
  const query = chosenQuery();
  const address = `${form.action}?${query}`;
  history.pushState(null, "", address);
  for (const figure of document.querySelectorAll("figure[data-figure]")) {
    figure.dataset.figure = `${figure.dataset.figure.split("?")[0]}?${query}`;
  }
  document.body.dispatchEvent(new CustomEvent("htmx:afterSwap"));
  request?.abort();
  request = new AbortController();
  try {
    const search = form.elements.q?.value;
    const asked = search ? `${address}&q=${encodeURIComponent(search)}` : address;
    const response = await fetch(asked, { signal: request.signal });
    if (!response.ok || response.redirected) return location.assign(address);
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    document.title = fresh.title;
    morph(document.querySelector("main"), fresh.querySelector("main"));
    document.body.dispatchEvent(new CustomEvent("htmx:afterSwap"));
  } catch (error) {
    if (error.name !== "AbortError") location.assign(address);
  }
}

function watchChoices() {
  form?.addEventListener("submit", (event) => { event.preventDefault(); update(); });
  document.addEventListener("change", ({ target }) => {
    if (form && target.form === form && !target.matches("[data-filter]")) update();
  });
  window.addEventListener("popstate", () => location.reload());
}

// The list has the newest studies; typing narrows it, Enter asks the server for others.
function filterList() {
  document.addEventListener("input", ({ target }) => {
    if (!target.matches("[data-filter]")) return;
    const words = target.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of document.getElementById(target.dataset.filter).children) {
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    }
  });
}

// On a phone the chart comes first, and one button opens the choices.
function openChoices() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-choices]");
    if (button) button.setAttribute("aria-expanded", String(document.body.classList.toggle("choices-open")));
  });
}

watchChoices();
filterList();
openChoices();
startDialogs();
