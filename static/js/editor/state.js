// The one state object: {name, description, tags, blocks}, exactly the JSON that is launched and shown as YAML.
export function load(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

export function read(block, path) {
  return path.split(".").reduce((value, key) => value?.[key], block);
}

// A list is an axis. One value is written without a list, none removes the field.
export function valuesOf(block, path) {
  const value = read(block, path);
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

export function write(block, path, values) {
  const keys = path.split(".");
  const last = keys.pop();
  let parent = block;
  for (const key of keys) {
    if (typeof parent[key] !== "object" || parent[key] === null || Array.isArray(parent[key])) parent[key] = {};
    parent = parent[key];
  }
  if (values.length === 0) delete parent[last];
  else parent[last] = values.length === 1 ? values[0] : values;
}

export function seedsOf(block) {
  const seeds = block.seeds ?? block.seed ?? 0;
  if (Array.isArray(seeds)) return seeds;
  return "seeds" in block && Number.isInteger(seeds) ? Array.from({ length: seeds }, (_, index) => index) : [seeds];
}

export function writeSeeds(block, seeds) {
  delete block.seed;
  block.seeds = seeds;
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

// What a person typed for a field, as JSON: "10, 20" is an axis; what is not understood stays text for the server to judge.
export function parse(text, field) {
  return text.split(",").map((part) => part.trim()).filter((part) => part !== "").map((part) => one(part, field));
}

function one(part, field) {
  if (field.nullable && /^(none|all|null)$/i.test(part)) return null;
  if ((field.kind === "integer" || field.kind === "number") && part !== "" && Number.isFinite(Number(part))) return Number(part);
  if (field.kind === "boolean") return { yes: true, no: false, true: true, false: false }[part.toLowerCase()] ?? part;
  return part;
}

export function shown(value, field) {
  if (value === null || value === undefined) return field?.path === "cohort" || field?.path === "clients" ? "all" : "none";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.map((each) => shown(each, field)).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
