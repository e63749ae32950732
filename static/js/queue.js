// Ticking rows: all of a table at once, and how many are ticked.
const boxes = (name) => [...document.querySelectorAll(`#queue input[type=checkbox][name="${name}"]`)];

function recount() {
  for (const place of document.querySelectorAll("[data-ticked]")) {
    const all = boxes(place.dataset.ticked);
    const ticked = all.filter((box) => box.checked).length;
    place.textContent = ticked ? `${ticked} ticked` : "";
    const whole = document.querySelector(`[data-tick-all="${place.dataset.ticked}"]`);
    whole.checked = ticked > 0 && ticked === all.length;
    whole.indeterminate = ticked > 0 && ticked < all.length;
  }
}

document.addEventListener("change", ({ target }) => {
  if (target.dataset.tickAll) for (const box of boxes(target.dataset.tickAll)) box.checked = target.checked;
  recount();
});
document.addEventListener("htmx:afterSettle", recount);
// A browser that comes back to the page ticks again what was ticked.
window.addEventListener("pageshow", recount);
