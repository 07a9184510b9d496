// A new table from a file of CSV, JSON or NDJSON, or a workbook: its columns and their types are read from the rows.

import { link, showTables } from "./app.js";
import { json, query, send } from "./api.js";
import { count, dialog, fill, h, notify } from "./dom.js";
import { preview, previewTable, WHOLE } from "./import.js";
import { TYPES } from "./migrate.js";

/** So much of a file is read to find the types. */
const READ = 16 * 1024 * 1024;
/** More rows than the preview shows are no part of the page. */
const SHOWN = 20;

/** Types, and the texts that are values of them. A number that begins with zeros is no number but a code. */
const PATTERNS = [
  ["i64", /^-?(0|[1-9]\d{0,17})$/],
  ["f64", /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/],
  ["bool", /^(true|false)$/],
  ["date", /^\d{4}-\d\d-\d\d$/],
  ["datetime", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?$/],
  ["timestamp", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/],
  ["uuid", /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i],
];
/** The types that JSON writes without quotes. */
const BARE = new Set(["i64", "f64", "bool"]);

const isMissing = (value) => value === undefined || value === null || value === "";

/** The type of which all values are. */
function typeOf(values, isCsv) {
  if (values.some((value) => typeof value === "object")) return "json";
  const isBare = isCsv ? null : values.every((value) => typeof value !== "string");
  const mixed = isBare === false && values.some((value) => typeof value !== "string");
  const fits = ([type, pattern]) => (isBare === null || isBare === BARE.has(type)) && values.every((value) => pattern.test(String(value)));
  const type = (values.length && !mixed && PATTERNS.find(fits)?.[0]) || "text";
  // A float would not keep the digits of long integers.
  return isCsv && type === "f64" && values.some((value) => /^-?\d{16,}$/.test(value)) ? "text" : type;
}

/** The columns of rows: `{name, type, nullable, isKey}`. At most one may be the key. */
export function columnsOf(names, rows, isCsv) {
  const columns = names.map((name) => {
    const values = rows.map((row) => row[name]).filter((value) => !isMissing(value));
    return { name, type: typeOf(values, isCsv), nullable: values.length < rows.length, distinct: new Set(values).size };
  });
  const mayBeKey = ({ type, nullable, distinct }) => !nullable && distinct === rows.length && rows.length > 0 && ["i64", "uuid", "text"].includes(type);
  const key = columns.find((column) => /^(id|key|code)$/i.test(column.name) && mayBeKey(column));
  return columns.map(({ name, type, nullable }) => ({ name, type, nullable, isKey: key?.name === name }));
}

/** A table as migrations write it. Without a column that may be the key it gets one that counts up. */
function describe(name, columns) {
  const key = columns.find((column) => column.isKey);
  const free = ["id", "row_id", "row_number"].find((other) => !columns.some((column) => column.name.toLowerCase() === other));
  const stored = columns.map(({ name, type, nullable }) => ({ name, type, nullable }));
  return { name, columns: key ? stored : [{ name: free, type: "i64", nullable: false }, ...stored], key: [key?.name ?? free], indexes: [], given_key: key?.type === "text" };
}

const run = (database, name, step) => json("POST", `${database.path}migrations`, { body: { name, steps: step }, quiet: true });

/** Creates the table and imports the file. Nothing stays if the file can't be imported. */
async function create(database, table, source, file) {
  const plain = table.name.replace(/[^\p{L}\p{N}_-]+/gu, "-").slice(0, 60) || "table";
  await run(database, `create-${plain}`, `create table ${JSON.stringify(table)}`);
  try {
    const path = `${database.path}tables/${encodeURIComponent(table.name)}/import`;
    const response = await send("POST", `${path}?${query({ mode: "insert", commit: file.size < WHOLE ? "0" : undefined })}`, { body: source.body, type: source.type });
    return await response.json();
  } catch (error) {
    await run(database, `drop-${plain}`, `drop table ${JSON.stringify(table.name)}`);
    const { row } = error.problem ?? {};
    throw new Error(row === undefined ? error.message : `${error.message} (row ${row + 1}; the table was not created)`);
  }
}

/** Shows a preview of a file, and makes a table of it. */
export async function createFrom(database, file) {
  let source;
  try {
    source = await preview(file, { most: Infinity, bytes: READ });
  } catch (error) {
    return void notify(`${file.name}: ${error.message}`, { error: true });
  }
  const columns = columnsOf(source.columns, source.rows, source.format === "CSV");
  const name = h("input", { id: "new-table-name", value: file.name.replace(/\.[^.]*$/, ""), required: true, autocomplete: "off", spellcheck: false });
  const problem = h("p", { className: "problem", role: "alert" });
  const state = h("p", { role: "status" });
  const heads = columns.map((column) => {
    const type = h("select", { aria: { label: `Type of ${column.name}` }, on: { change: () => (column.type = type.value) } }, TYPES.map(([value, label]) => h("option", { value, selected: value === column.type }, label)));
    return h("th", { scope: "col" }, column.name, h("span", { className: "hint" }, column.isKey ? "key" : column.nullable ? "may be NULL" : ""), type);
  });
  const made = await dialog(`New table from ${file.name}`, (done) => {
    const submit = async (event) => {
      event.preventDefault();
      const control = event.submitter;
      control.disabled = true;
      fill(problem, "");
      fill(state, "Importing…");
      try {
        const table = describe(name.value.trim(), columns);
        done({ table, report: await create(database, table, source, file) });
      } catch (error) {
        fill(problem, error.message);
      }
      fill(state, "");
      control.disabled = false;
    };
    return h(
      "form",
      { className: "form", on: { submit } },
      h("div", { className: "field" }, h("label", { htmlFor: name.id }, "Name of the table"), name),
      h("p", {}, `${source.format}, ${(file.size / 1024).toFixed(1)} KiB. The columns, as the rows have them${columns.some((column) => column.isKey) ? "" : ", and a key that counts up"}:`),
      previewTable(heads, source.columns, source.rows.slice(0, SHOWN)),
      problem,
      state,
      h("footer", {}, h("button", { className: "primary" }, "Create the table")),
    );
  }, { wide: true });
  await database.tables(true);
  await showTables();
  if (!made) return;
  notify(`${made.table.name}: ${count(made.report.inserted)} rows.`);
  location.hash = link("data", database.name, made.table.name);
}
