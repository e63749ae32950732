// Every problem by the name of its field; a click leads there.
import { element } from "./dom.js";

const SHOWN = 6;
const ABOVE = { name: "Name", description: "Description", tags: "Tags" };

// "blocks.0.strategy.1.mu" is in the field "strategy" of the first block.
function placeOf(path, fields) {
  const [, block, rest] = /^blocks\.(\d+)\.?(.*)$/.exec(path) ?? [];
  if (block === undefined) return { title: ABOVE[path] ?? path, field: path in ABOVE ? path : null };
  const inside = [...fields, { path: "seeds", title: "Seeds" }, { path: "seed", title: "Seeds" }].filter((field) => rest === field.path || rest.startsWith(`${field.path}.`));
  const field = inside.sort((one, other) => other.path.length - one.path.length)[0];
  const more = rest.slice(field?.path.length ?? 0).split(".").filter((part) => part && !/^\d+$/.test(part)).join(" ");
  return { title: [field?.title, more].filter(Boolean).join(" ") || "Block", block: Number(block), field: field?.path ?? null };
}

export function problemList(errors, { fields, blocks, goTo }) {
  const line = (error) => {
    const place = placeOf(error.path, fields);
    const where = [blocks > 1 && place.block !== undefined ? `Block ${place.block + 1}` : "", place.title === "yaml" ? "YAML" : place.title].filter(Boolean).join(" · ");
    return element("li", {}, element("button", { type: "button", class: "link", onclick: () => goTo({ ...place, line: error.line }) }, where || "Study"), `: ${error.message}`);
  };
  const rest = errors.length - SHOWN;
  return [...errors.slice(0, SHOWN).map(line), ...(rest > 0 ? [element("li", {}, `and ${rest.toLocaleString("en")} more, each at its field`)] : [])];
}

// The field in its block, opened where it is folded away; where it is unknown, the block.
export function focusField({ block, field }) {
  const root = block === undefined ? document : document.querySelector(`[data-block="${block}"]`);
  const name = field ? CSS.escape(field === "seed" ? "seeds" : field) : "";
  const places = block === undefined ? [`#${name || "name"}`] : [`[data-number="${name}"] [data-path]`, `[data-row="${name}"] .value.wrong button`, `[data-row="${name}"] button`, `[data-row="${name}"] select`, "button"];
  const target = places.map((place) => root?.querySelector(place)).find(Boolean);
  target?.closest("details")?.setAttribute("open", "");
  target?.scrollIntoView({ block: "center" });
  target?.focus();
}
