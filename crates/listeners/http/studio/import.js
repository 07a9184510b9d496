// Importing a file of CSV, JSON or NDJSON, or a workbook, into a table, with a preview first.

import { query, send } from "./api.js";
import { button, count, dialog, fill, h, notify } from "./dom.js";
import { isWorkbook, readWorkbook } from "./workbook.js";

/** So much of a file is read for the preview. */
const PREVIEW = 256 * 1024;
/** Arrays of JSON, and CSV with other separators than commas, are read as a whole. */
const MAX_WHOLE = 64 * 1024 * 1024;
/** A file that is longer is committed in parts, unless the person chooses otherwise. */
export const WHOLE = 64 * 1024 * 1024;

/** Lets the person choose a file. */
export function chooseFile(then) {
  const input = h("input", { type: "file", accept: ".csv,.tsv,.json,.ndjson,.jsonl,.xlsx,text/csv,application/json" });
  input.addEventListener("change", () => input.files[0] && then(input.files[0]));
  input.click();
}

/** A table of the first rows of a file, below these heads. */
export function previewTable(heads, columns, rows) {
  const cell = (value) => h("td", {}, typeof value === "object" ? JSON.stringify(value) : String(value ?? ""));
  const lines = rows.map((row) => h("tr", {}, columns.map((column) => cell(row[column]))));
  return h("div", { className: "scroll", tabIndex: 0, role: "region", aria: { label: "Preview" } }, h("table", { className: "plain" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, lines)));
}

/** What may separate the fields of a file, the most likely first: as `bobak import` has it. */
const SEPARATORS = [",", ";", "\t", "|"];

/** The separator that is most frequent outside quotes in the first line. */
export function separatorOf(text) {
  const counts = SEPARATORS.map(() => 0);
  let quoted = false;
  for (const c of text) {
    if (c === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (c === "\n" || c === "\r") break;
    else if (SEPARATORS.includes(c)) counts[SEPARATORS.indexOf(c)] += 1;
  }
  return SEPARATORS[counts.indexOf(Math.max(...counts))];
}

/** CSV with another separator, with commas: the server reads those alone. */
export function withCommas(text, separator) {
  if (!/[",]/.test(text)) return text.replaceAll(separator, ",");
  const other = separator === "|" ? "\\|" : separator;
  const field = new RegExp(`("[^"]*(?:""[^"]*)*"[^${other}\\r\\n]*|[^${other}\\r\\n]*)(${other}|\\r\\n?|\\n|$)`, "g");
  const quote = (value) => (value.startsWith('"') || !value.includes(",") ? value : `"${value.replaceAll('"', '""')}"`);
  return text.replace(field, (_, value, end) => quote(value) + (end === separator ? "," : end));
}

/** Reads CSV (RFC 4180): at most so many records; a last one that is cut off is left out if `isCut`. */
export function readCsv(text, limit = Infinity, isCut = false, separator = ",") {
  const records = [];
  let [record, field, quoted, at] = [[], "", false, 0];
  for (; at < text.length && records.length < limit; at++) {
    const c = text[at];
    if (quoted) {
      if (c !== '"') field += c;
      else if (text[at + 1] === '"') (field += '"'), at++;
      else quoted = false;
    } else if (c === '"' && field === "") quoted = true;
    else if (c === separator) record.push(field), (field = "");
    else if (c === "\n" || c === "\r") {
      if (c === "\r" && text[at + 1] === "\n") at++;
      record.push(field);
      if (record.length > 1 || record[0] !== "") records.push(record);
      [record, field] = [[], ""];
    } else field += c;
  }
  if (!isCut && (field !== "" || record.length)) records.push([...record, field]);
  return records;
}

/** Reads the start of a file: its format, columns, first rows, and what of it to send. */
export async function preview(file, { table, most = 20, bytes = PREVIEW } = {}) {
  if (await isWorkbook(file)) {
    const { sheet, sheets, columns, lines } = await readWorkbook(file, table?.name, (name) => table?.column(name));
    const format = sheets > 1 ? `Workbook, sheet ${sheet} of ${sheets}` : "Workbook";
    return { format, type: "application/x-ndjson", columns, rows: lines.slice(0, most).map((line) => JSON.parse(line)), total: lines.length, body: new Blob([lines.join("\n")]) };
  }
  const text = (await file.slice(0, bytes).text()).replace(/^\uFEFF/, "");
  const isCut = file.size > bytes;
  const start = text.trimStart()[0];
  if (start === "[") {
    if (file.size > MAX_WHOLE) throw new Error("an array of JSON may have 64 MiB: write one object a line (NDJSON), which may have any length");
    const rows = JSON.parse(await file.text());
    const wrong = !Array.isArray(rows) || rows.some((row) => typeof row !== "object" || row === null || Array.isArray(row));
    if (wrong) throw new Error("expected an array of objects");
    const body = new Blob([rows.map((row) => JSON.stringify(row)).join("\n")]);
    return { format: "JSON", type: "application/x-ndjson", columns: [...new Set(rows.slice(0, 100).flatMap(Object.keys))], rows: rows.slice(0, most), total: rows.length, body };
  }
  if (start === "{") {
    const lines = text.split("\n").filter((line) => line.trim());
    if (isCut) lines.pop();
    const rows = lines.slice(0, most).map((line) => JSON.parse(line));
    return { format: "NDJSON", type: "application/x-ndjson", columns: [...new Set(rows.flatMap(Object.keys))], rows, body: file };
  }
  const separator = separatorOf(text.trimStart());
  const records = readCsv(text, most + 1, isCut, separator);
  if (!records.length) throw new Error("the file is empty");
  if (separator !== "," && file.size > MAX_WHOLE) throw new Error("a file without commas may have 64 MiB here: `bobak import` reads longer ones");
  const body = separator === "," ? file : new Blob([withCommas(await file.text(), separator)]);
  const [columns, ...rows] = records;
  return { format: "CSV", type: "text/csv", columns, rows: rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]]))), body };
}

/** Shows a preview of a file and imports it. Returns whether rows were written. */
export async function importFile(table, file) {
  let source;
  try {
    source = await preview(file, { table });
  } catch (error) {
    notify(`${file.name}: ${error.message}`, { error: true });
    return false;
  }
  const unknown = source.columns.filter((column) => !table.column(column));
  const missing = table.columns.filter((column) => !source.columns.includes(column.name) && !column.nullable && column.default === undefined && !(table.key.includes(column.name) && table.keys === "generated") && !column.role);
  const modes = [["insert", "Insert new rows"], ["ignore", "Insert; leave rows that exist"], ["upsert", "Insert; change rows that exist"], ["replace", "Insert; replace rows that exist"]];
  const mode = h("select", { id: "import-mode" }, modes.map(([value, label]) => h("option", { value }, label)));
  const whole = h("input", { type: "checkbox", checked: file.size < WHOLE });
  const problem = h("p", { className: "problem", role: "alert" }, unknown.length ? `${table.name} has no column ${unknown.join(", ")}.` : missing.length ? `The file has no column ${missing.map((column) => column.name).join(", ")}, which must have a value.` : "");
  const state = h("p", { role: "status" });
  let abort;
  const report = await dialog(`Import ${file.name} into ${table.name}`, (done) => {
    const run = button("Import", async () => {
      abort = new AbortController();
      run.disabled = true;
      fill(state, "Importing…");
      try {
        const parameters = { mode: mode.value, commit: whole.checked ? "0" : undefined };
        const response = await send("POST", `${table.path}/import?${query(parameters)}`, { body: source.body, type: source.type, signal: abort.signal });
        done(await response.json());
      } catch (error) {
        fill(state, "");
        const { row, committed } = error.problem ?? {};
        fill(problem, error.message, row === undefined ? "" : ` (row ${row + 1}; ${committed ? `${count(committed)} rows stay` : "nothing was written"})`);
        run.disabled = false;
      }
    }, { kind: unknown.length ? "" : "primary", disabled: unknown.length > 0 || missing.length > 0 });
    const types = source.columns.map((column) => h("th", { scope: "col" }, column, h("span", { className: "hint" }, table.column(column)?.type ?? "unknown")));
    return h(
      "div",
      {},
      h("p", {}, `${source.format}, ${(file.size / 1024).toFixed(1)} KiB${source.total === undefined ? "" : `, ${count(source.total)} rows`}. The first rows:`),
      previewTable(types, source.columns, source.rows),
      h("div", { className: "field" }, h("label", { htmlFor: "import-mode" }, "If rows exist"), mode),
      h("label", { className: "null" }, whole, "All rows or none"),
      problem,
      state,
      h("footer", {}, unknown.length ? button("Create a table of it", () => done({ instead: true }), { kind: "primary" }) : null, run),
    );
  }, { wide: true });
  if (!report) {
    abort?.abort();
    return !!abort;
  }
  if (report.instead) {
    const { createFrom } = await import("./create.js");
    await createFrom(table.database, file);
    return false;
  }
  notify(`Imported ${file.name}: ${count(report.inserted)} inserted, ${count(report.changed)} changed, ${count(report.ignored)} left as they were.`);
  return true;
}
