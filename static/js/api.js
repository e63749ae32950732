// The API's pages. What is tried out there is done in the name of whoever is logged in, so it carries their CSRF token.
const settings = JSON.parse(document.getElementById("swagger-settings").textContent);
const token = document.querySelector('meta[name="csrf-token"]').content;

function followTheme() {
  document.documentElement.classList.toggle("dark-mode", document.documentElement.dataset.theme === "dark");
}

document.addEventListener("theme", followTheme);
followTheme();
window.SwaggerUIBundle({
  ...settings,
  dom_id: "#swagger-ui",
  presets: [window.SwaggerUIBundle.presets.apis],
  defaultModelsExpandDepth: -1,
  requestInterceptor: (request) => {
    request.headers["X-CSRFToken"] = token;
    return request;
  },
});
