// Buttons that copy a part of the page. Browsers give the clipboard only to https and localhost: elsewhere the text is selected.
async function copied(text, from) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    from.closest("details")?.setAttribute("open", "");
    getSelection().selectAllChildren(from);
    return "Selected: press Ctrl+C";
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const from = document.querySelector(button.dataset.copy);
  const words = button.textContent;
  button.textContent = await copied(from.textContent, from);
  setTimeout(() => { button.textContent = words; }, 2000);
});
