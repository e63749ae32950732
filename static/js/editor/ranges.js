// "0..1 by 0.1" and from-to-step as values; decimals stay as they were typed, so 0.1 * 3 is 0.3.
const MOST = 2000;
const RANGE = /^\s*(-?[\d.]+(?:e[-+]?\d+)?)\s*(?:\.\.|to|–|:)\s*(-?[\d.]+(?:e[-+]?\d+)?)\s*(?:(?:by|step|:)\s*([\d.]+(?:e[-+]?\d+)?))?\s*$/i;

function decimals(number) {
  const [digits, exponent] = String(number).toLowerCase().split("e");
  return Math.max(0, (digits.split(".")[1] ?? "").length - Number(exponent ?? 0));
}

export function rangeValues(from, to, step) {
  if (![from, to, step].every(Number.isFinite) || step <= 0 || Math.abs(to - from) / step > MOST) return [];
  const places = Math.min(12, Math.max(decimals(from), decimals(step)));
  const count = Math.floor(Math.abs(to - from) / step + 1e-9);
  const way = to < from ? -step : step;
  return Array.from({ length: count + 1 }, (_, index) => Number((from + index * way).toFixed(places)));
}

// The values of a written range, or null where the text is none.
export function parseRange(text) {
  const found = RANGE.exec(text);
  return found ? rangeValues(Number(found[1]), Number(found[2]), Number(found[3] ?? 1)) : null;
}
