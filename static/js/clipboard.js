// Copying. Browsers give the clipboard only to https and localhost: elsewhere the text is selected for the person.
export async function writeClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

function select(part) {
  part.closest("details")?.setAttribute("open", "");
  getSelection().selectAllChildren(part);
}

// Buttons that copy the part of the page which they name. `selects`: the part is selected even where copying works;
// `restores`: milliseconds after which the button has its own words again.
export function startCopyButtons({ selects = false, restores = 0 } = {}) {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const part = document.querySelector(button.dataset.copy);
    const words = button.textContent;
    if (selects) select(part);
    const copied = await writeClipboard(part.textContent);
    if (!copied) select(part);
    button.textContent = copied ? "Copied" : "Selected: press Ctrl+C";
    if (restores) setTimeout(() => { button.textContent = words; }, restores);
  });
}
