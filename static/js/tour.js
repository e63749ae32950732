// A short tour on the first visit of home: it covers nothing, takes no focus, and does not come again once it was ended.
const SEEN = "tributary-tour";
const tour = document.getElementById("tour");
const steps = [...(tour?.querySelectorAll("li") ?? [])];
let place = 0;

function mark(target) {
  for (const each of document.querySelectorAll(".tour-target")) each.classList.remove("tour-target");
  if (target) document.querySelector(target)?.classList.add("tour-target");
}

function show(next) {
  place = Math.max(0, Math.min(next, steps.length - 1));
  steps.forEach((step, number) => { step.hidden = number !== place; });
  tour.querySelector("[data-step]").textContent = `${place + 1} of ${steps.length}`;
  tour.querySelector("[data-tour=back]").disabled = place === 0;
  tour.querySelector("[data-tour=next]").textContent = place === steps.length - 1 ? "Done" : "Next";
  tour.querySelector("[data-tour=end]").hidden = place === steps.length - 1;
  mark(steps[place].dataset.target);
}

function end() {
  const held = tour.contains(document.activeElement);
  tour.hidden = true;
  mark(null);
  localStorage.setItem(SEEN, "yes");
  if (held) document.getElementById("content").focus();
}

function follow(wish) {
  if (wish === "end" || (wish === "next" && place === steps.length - 1)) end();
  else show(place + (wish === "back" ? -1 : 1));
}

if (tour && (new URLSearchParams(location.search).has("tour") || !localStorage.getItem(SEEN))) {
  tour.hidden = false;
  show(0);
  tour.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-tour]");
    if (button) follow(button.dataset.tour);
  });
  tour.addEventListener("keydown", ({ key }) => {
    const wish = { ArrowRight: "next", ArrowLeft: "back" }[key];
    if (wish) follow(wish);
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && !tour.hidden && !document.querySelector("dialog[open], details.menu[open], :popover-open")) end();
  });
}
