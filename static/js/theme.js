// Classic and in <head>: the theme is set before the first paint, so nothing flashes.
(() => {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    try { return localStorage.getItem("theme") || "system"; } catch { return "system"; }
  };
  const apply = () => {
    const choice = stored();
    root.dataset.themeChoice = choice;
    root.dataset.theme = choice === "system" ? (system.matches ? "dark" : "light") : choice;
    document.dispatchEvent(new CustomEvent("theme"));
  };
  window.tributaryTheme = {
    next() {
      const order = ["system", "light", "dark"];
      const choice = order[(order.indexOf(stored()) + 1) % order.length];
      try { localStorage.setItem("theme", choice); } catch { root.dataset.themeChoice = choice; }
      apply();
      return choice;
    },
    choice: stored,
  };
  system.addEventListener("change", apply);
  window.addEventListener("storage", apply);
  apply();
})();
