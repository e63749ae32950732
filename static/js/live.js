// Server-sent events become one "live" event on <body>, at most every so often; without a stream, a clock does it.
// A page that may not listen (a shared one has no account) has the clock alone: <body data-clock="milliseconds">.
const PAUSE = 400;
const POLL = 2000;

let stream = null;
let clock = null;
let waiting = null;
let last = 0;
let ended = false;

function announce() {
  last = Date.now();
  waiting = null;
  document.body.dispatchEvent(new CustomEvent("live", { bubbles: true }));
}

export function tick() {
  if (waiting || document.hidden) return;
  waiting = setTimeout(announce, Math.max(0, last + PAUSE - Date.now()));
}

function poll(on, every = POLL) {
  clearInterval(clock);
  clock = on ? setInterval(tick, every) : null;
}

function open(url, every) {
  close();
  poll(true, every);
  if (!url) return;
  stream = new EventSource(`${url}${url.includes("?") ? "&" : "?"}latest=1`);
  stream.addEventListener("open", () => { poll(false); tick(); });
  stream.addEventListener("error", () => poll(true));
  for (const name of ["metric", "state", "refetch"]) stream.addEventListener(name, tick);
  stream.addEventListener("study", ({ data }) => (JSON.parse(data).change === "deleted" && url.includes("study=") ? gone() : tick()));
}

// Somebody deleted the study of this page: what is shown stays readable, and nothing is asked for any more.
function gone() {
  ended = true;
  close();
  const note = document.createElement("div");
  note.className = "note warning";
  note.textContent = "This study was deleted. What you see is the last that this page read.";
  document.querySelector("[data-notes]").replaceChildren(note);
}

function close() {
  poll(false);
  clearTimeout(waiting);
  waiting = null;
  stream?.close();
  stream = null;
}

// A hidden page holds no connection: browsers allow only six to one server, and a lab keeps many tabs.
export function startLive() {
  const { events: url, clock: every } = document.body.dataset;
  if (!url && !every) return;
  const follow = () => (document.hidden || ended ? close() : open(url, Number(every) || POLL));
  document.addEventListener("visibilitychange", follow);
  document.addEventListener("logged-in", follow);
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => { if (event.persisted) follow(); });
  follow();
}
