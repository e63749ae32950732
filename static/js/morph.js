// Changes a part of the page into its newer version by touching only what differs: no flicker, focus stays.
// The attribute: `form.id` is a field of the form where one is called "id".
const idOf = (node) => node.getAttribute?.("id") || "";

function sameKind(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && idOf(a) === idOf(b);
}

function copyAttributes(from, to) {
  for (const { name } of [...to.attributes]) if (!from.hasAttribute(name)) to.removeAttribute(name);
  for (const { name, value } of from.attributes) if (to.getAttribute(name) !== value) to.setAttribute(name, value);
}

// A field that the person is in is the person's, as is an open dialog, and a chart draws itself.
function untouchable(node) {
  return node.dataset?.morph === "never" || (node.nodeName === "DIALOG" && node.open) || (node === document.activeElement && node.matches("input, select, textarea"));
}

export function morph(old, fresh) {
  if (old.isEqualNode(fresh) || untouchable(old)) return;
  const open = old.nodeName === "DETAILS" && old.open;
  copyAttributes(fresh, old);
  if (open) old.open = true;
  morphChildren(old, fresh);
}

function morphChildren(old, fresh) {
  let place = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const match = findMatch(place, next, old);
    if (!match) {
      old.insertBefore(next, place);
      continue;
    }
    if (match !== place) old.insertBefore(match, place);
    else place = place.nextSibling;
    if (match.nodeType === Node.ELEMENT_NODE) morph(match, next);
    else if (match.nodeValue !== next.nodeValue) match.nodeValue = next.nodeValue;
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
}

// What has no name is the one at its place, or the next one that looks like it: a note that comes or goes before a table
// must not make a new table of it, with nothing ticked.
function findMatch(place, next, parent) {
  if (idOf(next)) return [...parent.children].find((child) => sameKind(child, next));
  if (!place || sameKind(place, next)) return place;
  for (let later = place.nextSibling; later; later = later.nextSibling) {
    if (sameKind(later, next) && later.className === next.className) return later;
  }
  return null;
}

window.htmx?.defineExtension("morph", {
  isInlineSwap: (style) => style === "morph",
  handleSwap: (style, target, fragment) => {
    if (style !== "morph") return false;
    const fresh = fragment.firstElementChild ?? fragment;
    morph(target, fresh);
    return [target];
  },
});
