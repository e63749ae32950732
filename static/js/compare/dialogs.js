// The table as text to copy, views to keep and links to give away.
const $ = (selector) => document.querySelector(selector);

async function showText(address) {
  const dialog = $("#text-dialog");
  const response = await fetch(address);
  dialog.querySelector("textarea").value = await response.text();
  dialog.querySelector("[data-download]").href = address;
  dialog.querySelector("[data-copied]").textContent = "";
  dialog.showModal();
  dialog.querySelector("textarea").select();
}

// The clipboard is closed to pages without HTTPS; selecting and copying works everywhere.
async function copy(field) {
  field.select();
  try { await navigator.clipboard.writeText(field.value); } catch { document.execCommand("copy"); }
  field.closest("dialog").querySelector("[data-copied]").textContent = "Copied.";
}

export function startDialogs() {
  document.addEventListener("click", ({ target }) => {
    const text = target.closest("[data-copy]");
    if (text) showText(text.dataset.copy);
    const copier = target.closest("[data-copy-field]");
    if (copier) copy(copier.closest("dialog").querySelector("[data-field]"));
  });
}
