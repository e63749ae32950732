// Requests of a page's scripts. Whoever was logged out meanwhile is told, logs in where they are, and loses nothing.
const find = (selector) => document.querySelector(selector);

// The cookie is newer than the page where somebody logged in again, here or in another tab.
export function csrfToken() {
  return /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? find("meta[name=csrf-token]").content;
}

export async function request(url, options = {}) {
  const response = await fetch(url, { ...options, headers: { "X-Requested-With": "fetch", ...options.headers } });
  if (response.status === 401) tellLoggedOut();
  return response;
}

export function post(url, body) {
  return request(url, { method: "POST", headers: { "Content-Type": "application/json", "X-CSRFToken": csrfToken() }, body: JSON.stringify(body) });
}

function tellLoggedOut() {
  const note = find("[data-logged-out]");
  if (note) note.hidden = false;
}

async function logIn(form) {
  const words = form.querySelector("[data-refusal]");
  words.textContent = "";
  const page = await fetch(form.action);
  if (!page.ok) throw new Error(`status ${page.status}`);
  const body = new URLSearchParams(new FormData(form));
  body.set("csrfmiddlewaretoken", csrfToken());
  const answer = await fetch(form.action, { method: "POST", body });
  if (!new URL(answer.url).pathname.startsWith("/log-in")) return true;
  const said = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[role=alert]");
  words.textContent = said?.textContent.trim() ?? "That did not work. Try again.";
  return false;
}

export function startSession() {
  document.addEventListener("htmx:responseError", ({ detail }) => { if (detail.xhr.status === 401) tellLoggedOut(); });
  document.addEventListener("submit", ({ target }) => {
    const field = target.method === "post" && target.querySelector("[name=csrfmiddlewaretoken]");
    if (field) field.value = csrfToken();
  }, true);
  const dialog = find("#log-in-again");
  if (!dialog) return;
  find("[data-logged-out] button").addEventListener("click", () => dialog.showModal());
  dialog.querySelector("[data-cancel]").addEventListener("click", () => dialog.close());
  dialog.querySelector("form")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const inside = await logIn(event.target).catch(() => { dialog.querySelector("[data-refusal]").textContent = "The server did not answer. Try again."; });
    if (!inside) return;
    event.target.reset();
    dialog.close();
    find("[data-logged-out]").hidden = true;
    document.dispatchEvent(new CustomEvent("logged-in"));
    document.body.dispatchEvent(new CustomEvent("live", { bubbles: true }));
  });
}
