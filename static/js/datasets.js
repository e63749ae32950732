// While data sets are being fetched or imported, the list is asked for again: progress is written by another process.
const PAUSE = 1000;

setInterval(() => {
  const busy = document.querySelector("#dataset-list[data-busy]");
  if (busy && !document.hidden) document.body.dispatchEvent(new CustomEvent("jobs"));
}, PAUSE);

// Who follows a link to one of them sees its details.
const chosen = document.getElementById(location.hash.slice(1));
if (chosen?.matches("details")) { chosen.open = true; chosen.scrollIntoView(); }
