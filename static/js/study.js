// Dialogs of the study page: editing, and a deletion whose words are read when it is asked for.
import { request } from "./session.js";

const open = (id) => document.getElementById(id).showModal();

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) open(opener.dataset.opens);
  const closer = event.target.closest("dialog [data-close]");
  if (closer) {
    event.preventDefault();
    closer.closest("dialog").close();
  }
  const tag = event.target.closest("[data-tag]");
  if (tag) add(tag.dataset.tag);
});

function add(tag) {
  const field = document.querySelector("[data-tags]");
  const tags = field.value.split(",").map((each) => each.trim()).filter(Boolean);
  field.value = (tags.includes(tag) ? tags.filter((each) => each !== tag) : [...tags, tag]).join(", ");
}

document.addEventListener("submit", async (event) => {
  const id = event.target.dataset.dialog;
  if (!id) return;
  event.preventDefault();
  const form = event.target;
  try {
    const response = await request(form.action, { headers: { "HX-Request": "true" } });
    if (!response.ok) throw new Error(`status ${response.status}`);
    document.getElementById(id).innerHTML = await response.text();
    open(id);
  } catch {
    form.submit();
  }
});
