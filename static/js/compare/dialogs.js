// Views to keep and links to give away. Writing goes over the REST API.
import { csrfToken, request } from "../session.js";

const $ = (selector) => document.querySelector(selector);

async function ask(method, address, body) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": csrfToken() };
  const response = await request(address, { method, headers, body: body && JSON.stringify(body) });
  const answer = response.status === 204 ? {} : await response.json();
  if (response.ok) return answer;
  throw new Error([answer.detail, ...(answer.errors ?? []).map(({ message }) => message)].join(" "));
}

function wish(form) {
  const given = Object.fromEntries(new FormData(form));
  if (form.elements.shared) given.shared = form.elements.shared.checked;
  if (form.elements.days) given.days = Number(form.elements.days.value);
  return { ...given, query: location.search.slice(1) };
}

async function send(form) {
  const errors = form.querySelector(".errors");
  errors.replaceChildren();
  try {
    const answer = await ask("POST", form.dataset.post, wish(form));
    if (answer.url) showLink(form, answer.url);
    else location.reload();
  } catch ({ message }) {
    errors.append(Object.assign(document.createElement("li"), { textContent: message }));
  }
}

function showLink(form, url) {
  form.querySelector(".made").hidden = false;
  form.querySelector("[data-field]").value = url;
  form.querySelector("[data-field]").select();
}

async function remove(button) {
  await ask("DELETE", button.dataset.delete);
  button.closest("li").remove();
}

export function startDialogs() {
  document.addEventListener("click", ({ target }) => {
    const on = (name) => target.closest(`[data-${name}]`);
    if (on("open")) $(`#${on("open").dataset.open}-dialog`).showModal();
    if (on("close")) on("close").closest("dialog").close();
    if (on("delete")) remove(on("delete"));
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.dataset.post) return;
    event.preventDefault();
    send(event.target);
  });
}
