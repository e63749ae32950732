// The one state object: {name, description, tags, blocks, ...}, exactly the JSON that is launched and shown as YAML.
import { parseRange } from "./ranges.js";

export function load(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

// Keys of an app's config may have dots in them: what is written under the whole key is found as well.
export function read(block, path) {
  if (block === null || typeof block !== "object") return undefined;
  if (Object.hasOwn(block, path)) return block[path];
  const [key, ...rest] = path.split(".");
  return rest.length ? read(block[key], rest.join(".")) : undefined;
}

// The keys under which a value stands, or would be written.
function keysOf(block, path) {
  const [key, ...rest] = path.split(".");
  if (rest.length === 0 || (block && typeof block === "object" && Object.hasOwn(block, path))) return [path];
  return [key, ...keysOf(block?.[key], rest.join("."))];
}

// A list is an axis. A field that is not given has no values; its default stands in for it.
export function valuesOf(block, path) {
  const value = read(block, path);
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

export function isGiven(block, path) {
  return read(block, path) !== undefined;
}

// One value is written without a list, none removes the field and the mappings that it leaves empty.
export function write(block, path, values) {
  const keys = keysOf(block, path);
  const last = keys.pop();
  const parents = [block];
  for (const key of keys) {
    const parent = parents.at(-1);
    if (typeof parent[key] !== "object" || parent[key] === null || Array.isArray(parent[key])) parent[key] = {};
    parents.push(parent[key]);
  }
  if (values.length) parents.at(-1)[last] = values.length === 1 && !Array.isArray(values[0]) ? values[0] : values;
  else delete parents.at(-1)[last];
  for (let depth = keys.length; depth > 0; depth -= 1) {
    if (Object.keys(parents[depth]).length === 0) delete parents[depth - 1][keys[depth - 1]];
  }
}

export function seedsOf(block) {
  const seeds = block.seeds ?? block.seed ?? 0;
  if (Array.isArray(seeds)) return seeds;
  return "seeds" in block && Number.isInteger(seeds) && seeds <= 10000 ? Array.from({ length: Math.max(0, seeds) }, (_, index) => index) : [seeds];
}

// The seeds 0 to n-1 are written as their number.
export function writeSeeds(block, seeds) {
  delete block.seed;
  const counted = seeds.length > 0 && seeds.every((seed, index) => seed === index);
  block.seeds = counted ? seeds.length : seeds;
}

// How many values an axis has: lists add up, the fields of a mapping multiply.
export function size(value) {
  if (Array.isArray(value)) return value.reduce((sum, each) => sum + (Array.isArray(each) ? 1 : size(each)), 0);
  if (value && typeof value === "object") return Object.values(value).reduce((product, each) => product * size(each), 1);
  return 1;
}

export function copy(value) {
  return JSON.parse(JSON.stringify(value));
}

export function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

// What a person typed for a field, as JSON: "10, 20" and "0..1 by 0.1" are axes; what is not understood stays text for the
// server to judge.
export function parse(text, field) {
  if (field.kind === "list") return parseLists(text);
  if (field.kind === "mapping" || field.kind === "part") return parseMappings(text);
  const numeric = field.kind === "integer" || field.kind === "number";
  const range = numeric ? parseRange(text) : null;
  if (range?.length) return range;
  return text.split(",").map((part) => part.trim()).filter((part) => part !== "").map((part) => one(part, field));
}

// A value that is itself a list: [3, 32, 32], [1, 28, 28]
function parseLists(text) {
  if (text.trim() === "") return [];
  try {
    const found = JSON.parse(`[${text}]`);
    return found.every(Array.isArray) ? found : [found];
  } catch {
    return [text];
  }
}

// A mapping, as YAML or JSON has it, with or without its braces: eta: 0.1, tau: [0.001, 0.01]
function parseMappings(text) {
  if (text.trim() === "") return [];
  const quoted = text.replace(/"[^"]*"|[A-Za-z_][\w.+-]*/g, (word) => (/^("|true$|false$|null$)/.test(word) || /^[eE][+-]?\d+$/.test(word) ? word : JSON.stringify(word)));
  for (const attempt of [`[${quoted}]`, `[{${quoted}}]`]) {
    try {
      const found = JSON.parse(attempt);
      if (found.every((each) => each && typeof each === "object" && !Array.isArray(each))) return found;
    } catch {
      // not written that way
    }
  }
  return [text];
}

function one(part, field) {
  if (field.nullable && /^(none|all|null)$/i.test(part)) return null;
  if ((field.kind === "integer" || field.kind === "number") && Number.isFinite(Number(part))) return Number(part);
  if (field.kind === "boolean") return { yes: true, no: false, true: true, false: false }[part.toLowerCase()] ?? part;
  return part;
}

export function shown(value, field) {
  if (value === null || value === undefined) return field?.path === "cohort" || field?.path === "clients" ? "all" : "none";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return field?.kind === "list" ? value.map((each) => JSON.stringify(each)).join(", ") : value.map((each) => shown(each, field)).join(", ");
  return typeof value === "object" ? mappingText(value) : String(value);
}

// As in YAML: {eta: 0.1, tau: [0.001, 0.01]}
function mappingText(value) {
  const inside = (each) => (Array.isArray(each) ? `[${each.map(inside).join(", ")}]` : each && typeof each === "object" ? mappingText(each) : typeof each === "string" && /^[A-Za-z_][\w.]*$/.test(each) ? each : JSON.stringify(each));
  return `{${Object.entries(value).map(([key, each]) => `${key}: ${inside(each)}`).join(", ")}}`;
}

// A long axis by its ends: "0.01, 0.02 … 0.19 (19)"; a part by its label and parameters: "FedProx (μ = 0.1)".
function brief(value, own) {
  if (value?.name) return componentText(value, own?.options?.find?.((option) => option.name === value.name));
  if (!Array.isArray(value) || value.length < 6) return shown(value, own);
  return `${shown(value.slice(0, 2))} … ${shown(value.at(-1))} (${value.length})`;
}

// As people say it: "FedProx (μ = 0.1, 1)". Commas are between values of an axis, semicolons between parameters; what
// belongs to a component's name is told by default as well. Without the catalog's option it goes by its slug.
export function componentText(value, option) {
  if (typeof value !== "object" || value === null) return shown(value);
  const { name, ...given } = value;
  const hosted = typeof given.class === "string" ? given.class.split(".").at(-1) : "";
  if (hosted) delete given.class;
  const usual = (option?.parameters ?? []).filter((own) => option.named_by?.includes(own.path) && !(own.path in given));
  const words = [...usual.map((own) => parameterText(own.path, own.default, own)), ...Object.entries(given).map(([key, each]) => parameterText(key, each, option?.parameters.find((own) => own.path === key)))];
  const label = option?.short_label ?? option?.label ?? name ?? "?";
  return `${hosted ? `Flower ${hosted}` : label}${words.length ? ` (${words.join("; ")})` : ""}`;
}

function parameterText(key, value, own) {
  const title = own?.symbol ?? key.replaceAll("_", " ");
  return typeof value === "boolean" ? `${value ? "" : "not "}${title}` : `${title} = ${brief(value, own)}`;
}

// As YAML and exports spell it: "label-dirichlet · alpha 0.1".
export function slugText(value) {
  if (typeof value !== "object" || value === null) return shown(value);
  const parameters = Object.entries(value).filter(([key]) => key !== "name").map(([key, each]) => `${key} ${each?.name ? slugText(each) : shown(each)}`);
  return [value.name ?? "?", ...parameters].join(" · ");
}
