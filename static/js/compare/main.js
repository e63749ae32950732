// Compare: choices go into the address without empty ones, and the page stays where it was.
import { startImages } from "./images.js";
import { startDialogs } from "./dialogs.js";

const PLACE = "compare-scroll";
const form = document.querySelector("form[data-compare]");

function keepAddressShort() {
  form?.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
    formData.delete("q");
  });
}

function keepPlace() {
  form?.addEventListener("submit", () => sessionStorage.setItem(PLACE, String(window.scrollY)));
  const before = sessionStorage.getItem(PLACE);
  sessionStorage.removeItem(PLACE);
  if (before) window.scrollTo(0, Number(before));
}

// The list has the newest studies; typing narrows it, Enter asks the server for others.
function filterList() {
  const search = document.querySelector("[data-filter]");
  search?.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of document.getElementById(search.dataset.filter).children) {
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    }
  });
  search?.addEventListener("change", (event) => event.stopPropagation());
}

keepAddressShort();
keepPlace();
filterList();
startImages();
startDialogs();
