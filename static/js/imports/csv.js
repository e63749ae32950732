// Tables as text: quotes as RFC 4180 has them; what stands between columns is what the first line has most of.
const SEPARATORS = [",", ";", "\t"];

export function parseTable(text) {
  const content = text.replace(/^\ufeff/, "");
  const first = content.slice(0, content.search(/\r?\n|$/));
  const separator = SEPARATORS.reduce((best, each) => (first.split(each).length > first.split(best).length ? each : best));
  const [heads = [], ...lines] = parseLines(content, separator);
  const rows = lines.filter(({ cells }) => cells.length > 1 || cells[0] !== "");
  return { heads: heads.cells ?? [], rows };
}

// Each row with the line that it begins on.
function parseLines(text, separator) {
  const rows = [];
  let cells = [], cell = "", quoted = false, line = 1, began = 1;
  const endCell = () => { cells.push(cell); cell = ""; };
  const endRow = () => { endCell(); rows.push({ cells, line: began }); cells = []; };
  for (let place = 0; place < text.length; place += 1) {
    const letter = text[place];
    if (letter === "\n") line += 1;
    if (quoted && letter === '"' && text[place + 1] === '"') { cell += '"'; place += 1; }
    else if (quoted) { if (letter === '"') quoted = false; else cell += letter; }
    else if (letter === '"' && cell === "") quoted = true;
    else if (letter === separator) endCell();
    else if (letter === "\n") { endRow(); began = line; }
    else if (letter !== "\r" || text[place + 1] !== "\n") cell += letter;
  }
  if (cell !== "" || cells.length) endRow();
  return rows;
}
