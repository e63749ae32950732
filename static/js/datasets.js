// While data sets are being fetched or imported, the list is asked for again: progress is written by another process.
const PAUSE = 1000;

setInterval(() => {
  const busy = document.querySelector("#dataset-list[data-busy]");
  if (busy && !document.hidden) document.body.dispatchEvent(new CustomEvent("jobs"));
}, PAUSE);
