// Server-sent events become one "live" event on <body>, at most every so often; without a stream, a clock does it.
// A page that may not listen (a shared one has no account) has the clock alone: <body data-clock="milliseconds">.
// Rounds become "curves" and changes of runs "state" at once, for charts that go on with them by themselves.
const PAUSE = 1000;
const POLL = 2000;
const SETTLING = 300;
const REFUSED = 5000;

let stream = null;
let clock = null;
let waiting = null;
let settling = null;
let last = 0;
let ended = false;
// Seconds that the server wants between two requests of a page: it grows with those who watch.
let pace = 0;
// The moment of the last event: what is read from now on must not be older.
let seen = null;
let curves = [];

function announce() {
  last = Date.now();
  waiting = null;
  document.body.dispatchEvent(new CustomEvent("live", { bubbles: true }));
}

// Many who hear of a change at the same moment do not all ask at the same moment.
export function tick() {
  if (waiting || document.hidden) return;
  const due = last + Math.max(PAUSE, pace * 1000) - Date.now();
  waiting = setTimeout(announce, Math.max(0, due, Math.random() * pace * 1000));
}

export const isStreaming = () => stream?.readyState === EventSource.OPEN;

export const seenHeaders = () => (seen === null ? {} : { "X-Live-Seen": String(seen) });

export function keepPace(seconds) {
  if (seconds) pace = Number(seconds);
}

// The metrics of the charts that are shown: rounds come with these alone.
export function followCurves(names) {
  if (names.every((name) => curves.includes(name))) return;
  curves = [...new Set(names)].sort();
  if (!stream && !settling) return;
  clearTimeout(settling);
  settling = setTimeout(() => { if (!ended && !document.hidden) follow(); }, SETTLING);
}

function poll(on, every = POLL) {
  clearInterval(clock);
  clock = on ? setInterval(tick, every) : null;
}

function tell(name, detail = null) {
  document.body.dispatchEvent(new CustomEvent(name, { detail }));
}

function open(url, every) {
  close();
  poll(true, every);
  if (!url) return;
  const address = new URL(url, location.href);
  address.searchParams.set("latest", "1");
  for (const name of curves) address.searchParams.append("curves", name);
  stream = new EventSource(address);
  stream.addEventListener("open", () => poll(false));
  stream.addEventListener("error", () => fail(every));
  for (const name of ["hello", "refetch"]) stream.addEventListener(name, ({ data }) => greet(JSON.parse(data)));
  for (const name of ["metric", "curves", "state", "study"]) stream.addEventListener(name, ({ data }) => hear(name, JSON.parse(data), url));
}

// A browser comes back by itself after a break, but not after a refusal, such as that of a server with too much to do.
function fail(every) {
  poll(true, every);
  if (stream.readyState !== EventSource.CLOSED) return;
  clearTimeout(settling);
  settling = setTimeout(follow, REFUSED * (1 + Math.random()));
}

// The first words of every stream, also of one that was opened again. They name the pace before anything is asked for.
function greet({ pace: seconds }) {
  keepPace(seconds);
  tell("gap");
  tick();
}

function hear(name, event, url) {
  seen = event.at ?? seen;
  if (event.change === "deleted" && url.includes("study=")) return gone();
  tell(name === "study" ? "gap" : name, event);
  tick();
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
  clearTimeout(settling);
  waiting = settling = null;
  stream?.close();
  stream = null;
}

// A hidden page holds no connection: browsers allow only six to one server, and a lab keeps many tabs.
function follow() {
  const { events: url, clock: every } = document.body.dataset;
  if (document.hidden || ended) close();
  else open(url, Number(every) || POLL);
}

export function startLive() {
  const { events: url, clock: every } = document.body.dataset;
  if (!url && !every) return;
  document.addEventListener("visibilitychange", follow);
  document.addEventListener("logged-in", follow);
  document.body.addEventListener("htmx:configRequest", ({ detail }) => Object.assign(detail.headers, seenHeaders()));
  document.body.addEventListener("htmx:afterRequest", ({ detail }) => {
    keepPace(detail.xhr.getResponseHeader("X-Live-Pace"));
    if (detail.xhr.getResponseHeader("X-Live-Again")) tick();
  });
  // Whoever deleted the study did so before this page was told of anything.
  document.body.addEventListener("htmx:responseError", ({ detail }) => {
    if (detail.xhr.status === 404 && url?.includes("study=") && detail.pathInfo.requestPath.startsWith(location.pathname)) gone();
  });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => { if (event.persisted) follow(); });
  // Charts say within a moment which metrics they want to hear of.
  if (url && document.querySelector("[data-figure]")) settling = setTimeout(follow, SETTLING * 5);
  else follow();
}
