// What every page has: keyboard, menus, theme switch, confirmations, live parts and charts.
import "./morph.js";
import { confirmed } from "./confirmation.js";
import { startLive } from "./live.js";
import { startCharts } from "./charts.js";
import { startSession } from "./session.js";
import { startPapers } from "./papers.js";
import { startTimes } from "./times.js";

const $ = (selector) => document.querySelector(selector);

function typing(target) {
  return target.closest("input, textarea, select, [contenteditable=true]") !== null;
}

const go = { h: "/", s: "/studies", l: "/leaderboard", q: "/queue", c: "/compare", d: "/data-sets", w: "/workers" };
let lastKey = "";

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeMenus();
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || $("dialog[open]")) return;
  const key = event.key;
  if (lastKey === "g" && go[key]) location.assign(go[key]);
  else if (key === "/") focusSearch(event);
  else if (key === "n" && document.body.dataset.newStudy) location.assign(document.body.dataset.newStudy);
  else if (key === "?") $("#help")?.showModal();
  lastKey = key;
});

function focusSearch(event) {
  event.preventDefault();
  const search = $("[data-search]");
  if (search) search.focus();
  else if ($("nav")) location.assign("/#search");
}

function closeMenus(except = null) {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== except) menu.open = false;
}

document.addEventListener("click", (event) => {
  closeMenus(event.target.closest("details.menu"));
  if (event.target.closest("[data-help]")) {
    closeMenus();
    $("#help").showModal();
  }
  const toggle = event.target.closest("[data-nav]");
  if (toggle) toggle.setAttribute("aria-expanded", String($("#nav").classList.toggle("open")));
});

function showTheme() {
  const words = { system: "as the system", light: "light", dark: "dark" }[window.tributaryTheme.choice()];
  for (const place of document.querySelectorAll("[data-theme-words]")) place.textContent = `Theme: ${words}. Change`;
  for (const button of document.querySelectorAll("[data-theme-switch]")) button.title = `Theme: ${words}`;
}

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-theme-switch]")) return;
  window.tributaryTheme.next();
  showTheme();
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  const button = event.submitter;
  const asks = button?.dataset.confirm ? button.dataset : form.dataset;
  if (!asks.confirm || form.dataset.sure || !$("#confirm")) return;
  event.preventDefault();
  confirmed(asks.confirm, asks.yes).then((sure) => {
    // A live page may have taken the button away meanwhile, with what it was for.
    if (!sure || (button && button.form !== form)) return;
    form.dataset.sure = "yes";
    form.requestSubmit(button);
  });
});

document.addEventListener("change", (event) => event.target.closest("form[data-submit-on-change]")?.requestSubmit());

// A part that is read again keeps what the address says by then: columns, order and search of its tables.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  if ("withAddress" in detail.elt.dataset) detail.path = location.pathname + location.search;
});

if (location.hash === "#search") $("[data-search]")?.focus();
showTheme();
startSession();
startTimes();
startCharts();
startPapers();
startLive();
