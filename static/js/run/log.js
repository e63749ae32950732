// The log's last lines; while the run goes on and "Follow" is on, new ones as they are written.
import { request } from "../session.js";

const PAUSE = 1000;
const KEPT = 400_000;

class Log {
  constructor(panel) {
    this.url = panel.dataset.log;
    this.box = panel.querySelector("pre");
    this.words = panel.querySelector("[data-log-words]");
    this.follow = panel.querySelector("[data-follow]");
    this.file = panel.querySelector("[data-log-file]");
    this.after = null;
    this.cut = false;
    this.follow.addEventListener("change", () => this.turn());
    this.box.addEventListener("scroll", () => this.scrolled());
    document.addEventListener("visibilitychange", () => this.again());
    this.read();
  }

  async read() {
    clearTimeout(this.clock);
    try {
      const response = await request(this.after === null ? this.url : `${this.url}?after=${this.after}`);
      if (!response.ok) throw new Error(`status ${response.status}`);
      this.show(await response.json());
    } catch {
      this.words.textContent = "The log could not be read now; it is tried again.";
    }
    this.again();
  }

  again() {
    clearTimeout(this.clock);
    if (this.follow.checked && this.active !== false && !document.hidden) this.clock = setTimeout(() => this.read(), PAUSE);
  }

  show({ text, after, size, here, active }) {
    if (this.after === null) {
      this.follow.checked = active;
      this.cut = here && after - new TextEncoder().encode(text).length > 0;
    } else if (size < this.after) this.box.textContent = "";
    this.after = here ? after : null;
    this.active = active;
    this.file.hidden = this.box.hidden = !here;
    this.follow.parentElement.hidden = !active;
    if (text) this.append(text);
    this.words.textContent = this.told(here);
  }

  told(here) {
    if (!here) return this.active ? "Nothing is logged yet." : "Nothing was logged on this machine: the worker that computed the run holds its log.";
    if (!this.box.textContent) return "The log is empty.";
    return this.cut ? "The last lines; the file has all of them." : "";
  }

  append(text) {
    let kept = this.box.textContent + text;
    if (kept.length > KEPT) {
      kept = kept.slice(kept.indexOf("\n", kept.length - KEPT) + 1);
      this.cut = true;
    }
    this.box.textContent = kept;
    if (this.follow.checked || this.box.scrollTop === 0) this.bottom();
  }

  bottom() {
    this.box.scrollTop = this.box.scrollHeight;
  }

  turn() {
    if (!this.follow.checked) return;
    this.bottom();
    this.read();
  }

  // Whoever scrolls up wants to read: following ends, and begins again at the end.
  scrolled() {
    const atEnd = this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 24;
    if (this.active === false || this.follow.checked === atEnd) return;
    this.follow.checked = atEnd;
    this.again();
  }
}

for (const panel of document.querySelectorAll("[data-log]")) new Log(panel);
