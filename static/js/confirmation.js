// The one dialog that asks whether something is meant.
export function confirmed(words, yes = "Yes") {
  const dialog = document.getElementById("confirm");
  dialog.querySelector("[data-words]").textContent = words;
  dialog.querySelector("[data-yes]").textContent = yes;
  dialog.returnValue = "no";
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    dialog.showModal();
  });
}
