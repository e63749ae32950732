// The server's problems, by the path at which the person wrote: "blocks.0.strategy.1.mu".
const ABOVE = new Set(["name", "description", "tags"]);

export class Errors {
  constructor(list) {
    this.list = list;
  }

  block(index) {
    return new BlockErrors(this.list.filter(({ path }) => path === `blocks.${index}` || path.startsWith(`blocks.${index}.`))
      .map(({ path, message }) => ({ path: path.split(".").slice(2).join("."), message })));
  }

  at(path) {
    return this.list.filter((each) => each.path === path).map((each) => each.message);
  }

  outside() {
    return this.list.filter(({ path }) => !/^blocks\.\d+/.test(path) && !ABOVE.has(path))
      .map(({ path, message }) => (path && path !== "yaml" && path !== "blocks" ? `${path}: ${message}` : message));
  }
}

class BlockErrors {
  constructor(list) {
    this.list = list;
  }

  at(path) {
    return this.list.filter((each) => inside(each.path, path)).map(({ path: full, message }) => {
      const rest = full.slice(path.length + 1).split(".").filter((part) => part && !/^\d+$/.test(part)).join(" ");
      return rest ? `${rest}: ${message}` : message;
    });
  }

  touches(path, at, total) {
    return this.list.some((each) => inside(each.path, path) && (total < 2 || inside(each.path, `${path}.${at}`)));
  }

  other(paths) {
    return this.list.filter((each) => !paths.some((path) => inside(each.path, path))).map(({ path, message }) => (path ? `${path}: ${message}` : message));
  }
}

function inside(path, parent) {
  return path === parent || path.startsWith(`${parent}.`);
}
