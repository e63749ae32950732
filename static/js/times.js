// Moments in the browser's own time zone, which is named beside them; UTC stays in the tooltip, and without this script in the text.
const DAY = { day: "numeric", month: "short", year: "numeric" };
const MINUTES = { ...DAY, hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" };
const FORMATS = Object.fromEntries(Object.entries({ day: DAY, minutes: MINUTES, seconds: { ...MINUTES, second: "2-digit" } })
  .map(([precision, options]) => [precision, new Intl.DateTimeFormat("en-GB", options)]));

function showTimes() {
  for (const place of document.querySelectorAll("time[data-precision]:not([data-local])")) {
    place.textContent = FORMATS[place.dataset.precision].format(new Date(place.dateTime));
    place.dataset.local = "";
  }
}

function nameZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const place of document.querySelectorAll("[data-zone]")) place.textContent = zone === "UTC" ? "Times are in UTC." : `Times are in ${zone}; UTC is in their tooltips.`;
}

export function startTimes() {
  showTimes();
  nameZone();
  // Parts that are read again come in UTC.
  document.addEventListener("htmx:afterSwap", showTimes);
}
