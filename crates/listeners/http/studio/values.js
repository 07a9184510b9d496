// How values of each type are shown, compared in filters, and read from text. 64-bit integers and amounts are strings, so
// that no digit is lost.

const INTEGERS = new Set(["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]);
const NUMBERS = new Set([...INTEGERS, "f32", "f64", "currency", "decimal"]);

export const isNumber = (column) => NUMBERS.has(column.type);
export const isInteger = (column) => INTEGERS.has(column.type);
export const isText = (column) => column.type === "text" || column.type === "any";

/** A number as it is written, if JavaScript would write it in another way, such as `1.10` and integers of 64 bits. */
const exactNumber = (key, value, context) => (typeof value === "number" && JSON.rawJSON && context.source !== String(value) ? JSON.rawJSON(context.source) : value);

/** Reads JSON whose numbers are written as they were read, if the browser can do that. */
export const exactJson = (text) => JSON.parse(text, exactNumber);

/** The whole number that a text of digits is, exactly. */
export function exactInteger(text) {
  const number = Number(text);
  if (Number.isSafeInteger(number)) return number;
  if (!JSON.rawJSON) throw new Error(`This browser does not send ${text} exactly: use a newer one.`);
  return JSON.rawJSON(text);
}

/** The value that the text of a parameter is: a number if it is written as one, NULL if there is nothing. */
export function parameterValue(text, type) {
  if (type === "null") return null;
  if (type === "text") return text;
  if (text === "") return null;
  if (/^-?(0|[1-9]\d*)$/.test(text)) return exactInteger(text);
  if (!NUMBER.test(text)) return text;
  return JSON.rawJSON?.(text) ?? Number(text);
}

const isRaw = (value) => JSON.isRawJSON?.(value) ?? false;

/** Whether the numbers of a column are only what `exactJson` reads: those of documents, and of columns without a type. */
export const isExact = (column) => column.type === "json" || column.type === "any";

/** A column's value that `exactJson` read, as the pages have it. */
export function plainValue(value, column) {
  const number = (one) => (isRaw(one) ? Number(one.rawJSON) : one);
  if (isExact(column)) return value;
  if (isVector(column)) return value?.map(number) ?? value;
  if (!isRaw(value) && typeof value !== "number") return value;
  return ["i64", "u64", "currency", "decimal"].includes(column.type) ? (isRaw(value) ? value.rawJSON : String(value)) : number(value);
}

export const isVector = (column) => /^vector\(\d+\)$/.test(column?.type);

/** A type for people. */
export const typeName = (column) => ({ i64: "integer", f64: "number", currency: "money", bool: "yes/no", any: "any" })[column.type] ?? column.type;

/** The text of a value in a cell. Long texts are cut: the row's page shows all of them. */
export function display(value, column) {
  if (value === null || value === undefined) return "NULL";
  if (isVector(column)) return vector(value);
  if (typeof value === "object") return cut(JSON.stringify(value));
  if (column?.type === "bytes") return bytesLength(value);
  if (column?.type === "timestamp" || column?.type === "datetime") return String(value).replace("T", " ");
  return cut(String(value));
}

/** The first numbers of a vector, and how many there are. */
function vector(numbers) {
  const first = numbers.slice(0, 3).map((number) => String(Number(number.toPrecision(3))));
  return `[${first.join(", ")}${numbers.length > 3 ? ", …" : ""}] ${numbers.length} numbers`;
}

const cut = (text) => (text.length > 300 ? `${text.slice(0, 300)}…` : text);

/** The length of bytes in base64. */
function bytesLength(text) {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = (text.length / 4) * 3 - padding;
  return bytes < 1_024 ? `${bytes} bytes` : `${(bytes / 1_024).toFixed(1)} KiB`;
}

/** The text of a value in an editor. */
export function editText(value, column) {
  if (value === null || value === undefined) return "";
  if (isVector(column)) return JSON.stringify(value);
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}

const INTEGER = /^-?(0|[1-9]\d{0,14})$/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Reads a value of a column from an editor's text, which had the value `before`. Throws an error that says what is wrong. */
export function parse(text, column, before) {
  const wrong = (what) => new Error(`${column.name}: expected ${what}`);
  if (text === "" && column.type !== "text" && column.type !== "any") {
    if (column.nullable) return null;
    throw wrong("a value");
  }
  if (isInteger(column)) {
    if (!/^[+-]?\d+$/.test(text.trim())) throw wrong("a whole number");
    return text.trim().replace(/^\+/, "");
  }
  if (column.type === "currency" || column.type === "decimal") {
    if (!/^[+-]?\d+(\.\d+)?$/.test(text.trim())) throw wrong("an amount, such as 12.50");
    return text.trim().replace(/^\+/, "");
  }
  if (column.type === "f64" || column.type === "f32") {
    const number = Number(text);
    if (!Number.isFinite(number)) throw wrong("a number");
    return number;
  }
  if (column.type === "bool") {
    if (/^(true|yes|1)$/i.test(text)) return true;
    if (/^(false|no|0)$/i.test(text)) return false;
    throw wrong("yes or no");
  }
  if (column.type === "json") {
    try {
      return exactJson(text);
    } catch (error) {
      throw wrong(`JSON (${error.message})`);
    }
  }
  if (isVector(column)) {
    const length = Number(/\d+/.exec(column.type)[0]);
    const numbers = /^\s*\[[\s\d.,eE+-]*\]\s*$/.test(text) ? jsonOrNull(text) : null;
    if (numbers?.length !== length) throw wrong(`${length} numbers, such as [0.5, -1, …]`);
    return numbers;
  }
  if (column.type === "any") {
    // A number stays one, and so does a text of digits.
    if (typeof before === "string" && NUMBER.test(before)) return text;
    return (typeof before === "number" || isRaw(before) ? NUMBER : INTEGER).test(text) ? exactJson(text) : text;
  }
  if (column.max_chars && [...text].length > column.max_chars) throw wrong(`at most ${column.max_chars} characters`);
  return text;
}

function jsonOrNull(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A literal of a filter. */
export function literal(value, column) {
  if (value === null || value === undefined) return "null";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") return String(value);
  if (isRaw(value)) return value.rawJSON;
  if (isNumber(column) && /^-?[\d.eE+-]+$/.test(value)) return String(value);
  return `'${(typeof value === "object" ? JSON.stringify(value) : String(value)).replaceAll("'", "''")}'`;
}

/** A literal of SQL. */
export const sqlText = (text) => `'${text.replaceAll("'", "''")}'`;

/** Values as CSV (RFC 4180). */
export function csv(columns, rows) {
  const field = (value) => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return /[",\r\n]/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}
