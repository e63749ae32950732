// Drafts are kept in this browser, for each person: what was typed outlives a closed tab, a crash and a log-out.
import { confirmed } from "../confirmation.js";
import { element } from "./dom.js";

const KEPT_DAYS = 30;
const MOST = 20;
const DAY = 86_400_000;

function ago(moment) {
  const minutes = Math.round((Date.now() - moment) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  return minutes < 1440 ? `${Math.round(minutes / 60)} h ago` : new Date(moment).toLocaleDateString("en", { day: "numeric", month: "short" });
}

export class Drafts {
  constructor(person) {
    this.prefix = `tributary-draft:${person}:`;
    this.tab = `${this.prefix}here:${location.search}`;
    this.id = this.session("get") ?? crypto.getRandomValues(new Uint32Array(2)).join("-");
  }

  // A browser may refuse storage altogether.
  session(way, ...given) {
    try {
      return sessionStorage[`${way}Item`](this.tab, ...given);
    } catch {
      return null;
    }
  }

  // What this tab had before it was reloaded, or was asked to go on with.
  own() {
    return this.all().find((draft) => draft.id === this.id) ?? null;
  }

  others() {
    return this.all().filter((draft) => draft.id !== this.id);
  }

  all() {
    try {
      const keys = Object.keys(localStorage).filter((key) => key.startsWith(this.prefix));
      const drafts = keys.map((key) => ({ ...JSON.parse(localStorage.getItem(key)), id: key.slice(this.prefix.length) }));
      for (const old of drafts.filter(({ at }) => Date.now() - at > KEPT_DAYS * DAY)) this.remove(old.id);
      return drafts.filter(({ at }) => Date.now() - at <= KEPT_DAYS * DAY).sort((one, other) => other.at - one.at).slice(0, MOST);
    } catch {
      return [];
    }
  }

  save(draft) {
    try {
      localStorage.setItem(this.prefix + this.id, JSON.stringify({ ...draft, at: Date.now(), search: location.search }));
      this.session("set", this.id);
      return true;
    } catch {
      return false;
    }
  }

  remove(id = this.id) {
    localStorage.removeItem(this.prefix + id);
  }

  goOn(draft) {
    this.tab = `${this.prefix}here:${draft.search}`;
    this.session("set", draft.id);
    location.assign(location.pathname + draft.search);
  }

  // Those of earlier visits, newest first. To take one away is to lose it, so it asks.
  list(panel) {
    const drafts = this.others();
    panel.hidden = drafts.length === 0;
    const row = (draft) => {
      const name = draft.study?.name || "Study without a name";
      const away = async () => {
        if (!(await confirmed(`The draft “${name}” of ${ago(draft.at)} cannot be brought back.`, "Delete the draft"))) return;
        this.remove(draft.id);
        this.list(panel);
      };
      return element("li", {}, element("span", {}, element("strong", {}, name), element("span", { class: "muted small" }, ` ${[draft.runs, ago(draft.at)].filter(Boolean).join(" · ")}`)),
        element("button", { type: "button", class: "button small", "aria-label": `Go on with ${name}`, onclick: () => this.goOn(draft) }, "Go on"),
        element("button", { type: "button", class: "button small quiet", "aria-label": `Delete the draft ${name}`, onclick: away }, "Delete"));
    };
    panel.querySelector("ul").replaceChildren(...drafts.map(row));
  }
}
