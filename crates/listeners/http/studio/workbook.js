// Reading a workbook (.xlsx): a ZIP archive of XML (ECMA-376).

/** A part of a workbook is read as a whole; larger ones are for `bobak import`. */
const MAX_PART = 128 * 1024 * 1024;
const ZIP = 0x04034b50;
const ZIP_ENTRY = 0x02014b50;
const ZIP_END = 0x06054b50;
const DAY = 86_400_000;
/** The number of the day after 9999-12-31. */
const END = 2_958_466;
/** The number of 1970-01-01, and of the same day in workbooks that count from 1904. */
const [EPOCH, EPOCH_1904] = [25_569, 24_107];

const view = async (blob) => new DataView(await blob.arrayBuffer());

export async function isWorkbook(file) {
  return file.size > 22 && (await view(file.slice(0, 4))).getUint32(0, true) === ZIP;
}

/** A function that reads a part of an archive as XML; `undefined` if it is not there. */
async function unzip(file) {
  const tail = await view(file.slice(Math.max(0, file.size - 65_557)));
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== ZIP_END) end--;
  if (end < 0) throw new Error("the archive is damaged");
  const [size, start] = [tail.getUint32(end + 12, true), tail.getUint32(end + 16, true)];
  const directory = await view(file.slice(start, start + size));
  const entries = new Map();
  for (let at = 0; at + 46 <= size && directory.getUint32(at, true) === ZIP_ENTRY; ) {
    const length = directory.getUint16(at + 28, true);
    const name = new TextDecoder().decode(new Uint8Array(directory.buffer, at + 46, length));
    entries.set(name, { method: directory.getUint16(at + 10, true), packed: directory.getUint32(at + 20, true), size: directory.getUint32(at + 24, true), offset: directory.getUint32(at + 42, true) });
    at += 46 + length + directory.getUint16(at + 30, true) + directory.getUint16(at + 32, true);
  }
  return async (name) => {
    const entry = entries.get(name);
    if (!entry) return undefined;
    if (entry.size > MAX_PART) throw new Error("the workbook is too large for a browser: use `bobak import`");
    const head = await view(file.slice(entry.offset, entry.offset + 30));
    const from = entry.offset + 30 + head.getUint16(26, true) + head.getUint16(28, true);
    const data = file.slice(from, from + entry.packed);
    const text = entry.method === 0 ? await data.text() : await new Response(data.stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
    return parseXml(text, name);
  };
}

const TOKEN = /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[([\s\S]*?)\]\]>|<\/([^>\s]+)\s*>|<([^\s/>!?]+)((?:\s+[^\s=>]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(\/?)>|([^<]+)/g;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function unescape(text) {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (all, hex, digits, name) => (name ? (ENTITIES[name] ?? all) : String.fromCodePoint(hex ? parseInt(hex, 16) : Number(digits))));
}

/**
 * An element: its name without a prefix, its attributes, its children and its own text. The page's policy forbids the browser's own
 * parser, which could also make HTML.
 */
class Element {
  constructor(name, attributes) {
    this.name = name.replace(/^.*:/, "");
    this.attributes = new Map([...attributes.matchAll(/([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].map(([, key, double, single]) => [key, unescape(double ?? single)]));
    this.children = [];
    this.text = "";
  }

  /** All elements of this name below this one. */
  *all(name) {
    for (const child of this.children) {
      if (child.name === name) yield child;
      yield* child.all(name);
    }
  }

  first(name) {
    return this.all(name).next().value;
  }

  get(attribute) {
    return this.attributes.get(attribute);
  }
}

function parseXml(text, part) {
  const open = [new Element("", "")];
  for (const [, data, end, start, attributes, isEmpty, content] of text.matchAll(TOKEN)) {
    const parent = open[open.length - 1];
    if (start) {
      const element = new Element(start, attributes);
      parent.children.push(element);
      if (!isEmpty) open.push(element);
    } else if (end) {
      if (open.length === 1 || parent.name !== end.replace(/^.*:/, "")) throw new Error(`its part ${part} is damaged`);
      open.pop();
    } else parent.text += data ?? unescape(content ?? "");
  }
  if (open.length > 1) throw new Error(`its part ${part} is damaged`);
  return open[0];
}

/** The text of a string: of all its parts, without how it is pronounced. */
function texts(element) {
  const own = element.children.filter((child) => child.name !== "rPh").map((child) => (child.name === "t" ? child.text : texts(child)));
  return own.join("").replace(/_x([0-9A-F]{4})_/gi, (_, code) => String.fromCharCode(parseInt(code, 16)));
}

const isOn = (value) => value === "1" || value === "true";

/** For each style, whether it shows a number as a date or a time. */
function dateStyles(styles) {
  const own = new Map([...(styles?.all("numFmt") ?? [])].map((format) => [format.get("numFmtId"), format.get("formatCode")]));
  return (styles?.first("cellXfs")?.children ?? []).map((style) => {
    const id = style.get("numFmtId");
    const code = own.get(id)?.replace(/"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, "");
    return code === undefined ? (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58) : /[ymdhs]/i.test(code);
  });
}

/** The text of a date, of a time of day, or of both, for a column of this type. */
function dateText(number, epoch, type) {
  if (epoch === EPOCH && number >= 60 && number < 61) throw new Error("1900-02-29 did not exist");
  const first = epoch === EPOCH && number < 60 ? 1 : 0;
  const days = number + first - epoch;
  const date = new Date(Math.round(days * DAY));
  if (!(number >= 0 && days + EPOCH < END)) throw new Error(`${number} is not a date`);
  const [day, time] = date.toISOString().slice(0, -1).replace(/\.000$/, "").split("T");
  if (type === "time" || (type !== "datetime" && type !== "timestamp" && number < 1)) return time;
  if (type === "date" || (type !== "datetime" && type !== "timestamp" && Number.isInteger(number))) return day;
  return `${day}T${time}${type === "timestamp" ? "Z" : ""}`;
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;

/** The JSON of a text in a column of this type: the digits of a number, a document, or a string. */
function jsonOfText(text, type) {
  if (/^[iuf]\d+$|^currency$/.test(type) && NUMBER.test(text)) return text;
  if (type === "json") {
    try {
      return JSON.stringify(JSON.parse(text));
    } catch {
      // A text that is no document is a string.
    }
  }
  return JSON.stringify(text);
}

/** The JSON of a cell's value; `undefined` for an empty cell. */
function json(cell, book, type) {
  const value = cell.first("v")?.text;
  switch (cell.get("t")) {
    case "s":
      return jsonOfText(book.shared[value] ?? "", type);
    case "inlineStr":
      return jsonOfText(texts(cell), type);
    case "str":
    case "d":
      return jsonOfText(value ?? "", type);
    case "b":
      return value === undefined ? undefined : String(isOn(value));
    case "e":
      throw new Error(`the cell holds the error ${value}: correct it in the workbook`);
  }
  if (!value) return undefined;
  if (book.dates[cell.get("s") ?? 0]) return JSON.stringify(dateText(Number(value), book.epoch, type));
  if (!Number.isFinite(Number(value))) throw new Error(`${value} is not a number`);
  return type === "text" ? JSON.stringify(String(Number(value))) : NUMBER.test(value) ? value : String(Number(value));
}

/** The column's number, from 0, of a reference such as AB12. */
const place = (reference) => [...reference.replace(/\d+$/, "")].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;

/** The rows of a sheet that have cells: each an array of cells by column. */
function* rowsOf(sheet) {
  for (const row of sheet.all("row")) {
    const cells = [];
    for (const cell of row.children) cells[cell.get("r") ? place(cell.get("r")) : cells.length] = cell;
    if (cells.some((cell) => cell.children.length)) yield cells;
  }
}

/** Opens a workbook: the parts that all sheets need, and the sheets' names and paths. */
async function open(file) {
  const part = await unzip(file);
  const [workbook, targets, strings, styles] = await Promise.all(["xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/sharedStrings.xml", "xl/styles.xml"].map(part));
  if (!workbook || !targets) throw new Error("it is an archive, but not a workbook (.xlsx)");
  const paths = new Map([...targets.all("Relationship")].map((target) => [target.get("Id"), target.get("Target")]));
  const sheets = [...workbook.all("sheet")].map((sheet) => ({ name: sheet.get("name"), path: paths.get(sheet.get("r:id")) }));
  const is1904 = isOn(workbook.first("workbookPr")?.get("date1904"));
  return { part, sheets, shared: [...(strings?.all("si") ?? [])].map(texts), dates: dateStyles(styles), epoch: is1904 ? EPOCH_1904 : EPOCH };
}

/**
 * Reads the sheet that has the table's name, or else the first one, as NDJSON. `columnOf` tells what is known of a column by its name.
 * An empty cell is NULL in a column that may have it. Others get their default.
 */
export async function readWorkbook(file, table, columnOf) {
  const book = await open(file);
  const sheet = book.sheets.find((sheet) => sheet.name === table) ?? book.sheets[0];
  const xml = sheet?.path && (await book.part(sheet.path.startsWith("/") ? sheet.path.slice(1) : `xl/${sheet.path}`));
  if (!xml) throw new Error("the workbook has no sheet");
  const [columns, lines] = [[], []];
  for (const cells of rowsOf(xml)) {
    if (!columns.length) {
      for (const cell of cells) columns.push(cell ? String(JSON.parse(json(cell, book, "text") ?? '""')) : "");
      continue;
    }
    const members = [];
    columns.forEach((column, index) => {
      const [name, cell] = [column || `column_${index + 1}`, cells[index]];
      const known = columnOf(name);
      try {
        const value = cell && json(cell, book, known?.type ?? "");
        if (value !== undefined || known?.nullable) members.push(`${JSON.stringify(name)}:${value ?? "null"}`);
      } catch (error) {
        throw new Error(`cell ${cell.get("r") ?? ""}: ${error.message}`);
      }
    });
    if (cells.length > columns.length) throw new Error(`cell ${cells.at(-1).get("r") ?? ""}: its column has no name in the first row`);
    lines.push(`{${members.join(",")}}`);
  }
  if (!columns.length) throw new Error(`the sheet ${sheet.name} is empty`);
  return { sheet: sheet.name, sheets: book.sheets.length, columns: columns.map((name, index) => name || `column_${index + 1}`), lines };
}
