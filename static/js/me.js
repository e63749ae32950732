// Copies what a button names. Browsers allow it on https and localhost only: elsewhere the text is selected for the person.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const place = document.querySelector(button.dataset.copy);
  getSelection().selectAllChildren(place);
  try {
    await navigator.clipboard.writeText(place.textContent);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Selected: press Ctrl+C";
  }
});
