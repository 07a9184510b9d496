// An editor for each type of column: in a cell of the grid, and in the form of a row.

import { count, h } from "./dom.js";
import { display, editText, isInteger, isText, isVector, literal, parse } from "./values.js";
import { listName, name } from "./api.js";

const NULL = Symbol("null");

/** An input for a column. Returns `{element, read, focus}`: `read` returns the value, or a promise of it, or throws an error that
 * says what is wrong. */
export function editor(table, column, value, { label, typed, compact } = {}) {
  const properties = { id: label ? undefined : `field-${column.name}`, aria: label ? { label } : {}, className: "editor" };
  const text = typed ?? editText(value, column);
  if (column.references) return reference(table, column, value, properties, typed);
  const words = wordsOf(column);
  if (words) return choice(column, value ?? (column.nullable ? null : undefined), words.map((text) => [text, text]), properties);
  if (column.type === "bool") return choice(column, value, [["true", true], ["false", false]], properties);
  if (column.type === "bytes") return bytes(column, value, properties);
  const hasLines = /[\r\n]/.test(text);
  const isLong = column.type === "json" || isVector(column) || (isText(column) && (text.length > 60 || hasLines || !compact));
  if (isLong && !(column.type === "any" && text.length < 60 && !hasLines)) {
    const area = h("textarea", { ...properties, value: text, rows: compact ? 5 : Math.min(12, Math.max(column.type === "json" || isVector(column) ? 4 : 1, text.split("\n").length)), spellcheck: column.type !== "json" });
    return plain(area, column, value, typed);
  }
  const kind = { date: "date", time: "time", datetime: "datetime-local" }[column.type];
  const input = h("input", {
    ...properties,
    type: kind && typed === undefined ? kind : "text",
    value: kind === "datetime-local" ? text.slice(0, 19) : text,
    inputMode: isInteger(column) ? "numeric" : column.type === "currency" || column.type === "f64" ? "decimal" : "text",
    autocomplete: "off",
    spellcheck: false,
  });
  if (kind) input.step = "1";
  return plain(input, column, value, typed);
}

/** The only texts that a column may have, if its CHECK lists them: `status IN ('new', 'paid')`. */
export function wordsOf(column) {
  const list = column.type === "text" && /^\(*\s*(?:"((?:[^"]|"")+)"|(\w+))\s*\)*\s+in\s*\(((?:\s*'(?:[^']|'')*'\s*,?)+)\)\)*$/i.exec(column.check ?? "");
  if (!list || (list[1]?.replaceAll('""', '"') ?? list[2]).toLowerCase() !== column.name.toLowerCase()) return null;
  return [...list[3].matchAll(/'((?:[^']|'')*)'/g)].map(([, text]) => text.replaceAll("''", "'"));
}

function plain(input, column, value, typed) {
  const before = input.value;
  return {
    element: input,
    read: () => (input.value === before && typed === undefined ? value : parse(withLineEnds(input.value, value), column, value)),
    focus: () => (input.focus(), typed === undefined ? input.select?.() : input.setSelectionRange?.(input.value.length, input.value.length)),
  };
}

/** An editor's text, whose lines end with `\n`, with the line ends of the text that it had before. */
function withLineEnds(text, before) {
  if (typeof before !== "string" || !before.includes("\r")) return text;
  const [lines, ends, now] = [before.split(/\r\n?|\n/), before.match(/\r\n?|\n/g), text.split("\n")];
  const added = now.length - lines.length;
  let same = 0;
  while (same < Math.min(lines.length, now.length) && lines[same] === now[same]) same += 1;
  return now.reduce((all, line, index) => all + (ends[index <= same ? index - 1 : index - 1 - added] ?? ends[0]) + line);
}

function choice(column, value, options, properties) {
  const select = h(
    "select",
    properties,
    column.nullable ? h("option", { value: "null" }, "NULL") : null,
    options.map(([label], index) => h("option", { value: String(index) }, label)),
  );
  const known = options.findIndex(([, one]) => one === value);
  if (known < 0 && value !== null && value !== undefined) {
    options = [...options, [String(value), value]];
    select.append(h("option", { value: String(options.length - 1) }, String(value)));
  }
  const index = options.findIndex(([, one]) => one === value);
  select.value = index < 0 ? (column.nullable ? "null" : "0") : String(index);
  return { element: select, read: () => (select.value === "null" ? null : options[Number(select.value)][1]), focus: () => select.focus() };
}

function bytes(column, value, properties) {
  let current = value ?? null;
  const size = h("span", { className: "size" }, display(current, column));
  const file = h("input", { ...properties, type: "file", aria: { label: properties.aria.label ?? `${column.name}: file` } });
  file.addEventListener("change", async () => {
    const url = await new Promise((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.readAsDataURL(file.files[0]);
    });
    current = url.slice(url.indexOf(",") + 1);
    size.textContent = display(current, column);
  });
  return { element: h("div", { className: "bytes" }, size, file), read: () => current, focus: () => file.focus() };
}

/** The column by which people know the rows of a table. */
export function labelColumn(table) {
  const names = ["name", "title", "label", "email", "code"];
  return table.columns.find((column) => names.includes(column.name.toLowerCase())) ?? table.columns.find((column) => column.type === "text" && !table.key.includes(column.name)) ?? table.columns[0];
}

/** A key of another table, found by the text of its row. */
function reference(table, column, value, properties, typed) {
  const { table: target, column: to } = column.references;
  const listId = `options-${Math.random().toString(36).slice(2)}`;
  const options = h("datalist", { id: listId });
  const input = h("input", { ...properties, type: "text", value: typed ?? editText(value), autocomplete: "off", placeholder: `Search ${target}` });
  input.setAttribute("list", listId);
  const load = async () => {
    const other = await table.database.table(target);
    const label = labelColumn(other);
    const key = other.column(to);
    const text = input.value.trim();
    const parts = [];
    if (text && isText(label)) parts.push(`${name(label.name)} contains ${literal(text, { type: "text" })}`);
    if (text && (!isInteger(key) || /^\d+$/.test(text))) parts.push(`${name(to)} = ${literal(text, key)}`);
    const columns = [...new Set([to, label.name])].map(listName).join(",");
    const { rows } = await other.rows({ filter: parts.join(" or "), columns, limit: 20 }, { quiet: true });
    options.replaceChildren(...rows.map((row) => h("option", { value: editText(row[to]) }, String(row[label.name] ?? ""))));
  };
  let timer;
  const soon = () => (clearTimeout(timer), (timer = setTimeout(() => load().catch(() => {}), 150)));
  input.addEventListener("input", soon);
  input.addEventListener("focus", soon, { once: true });
  const before = editText(value);
  return {
    element: h("div", { className: "reference" }, input, options),
    read: async () => (input.value === before && typed === undefined ? value : keyNamed(table.database, column, input.value.trim())),
    focus: () => (input.focus(), typed === undefined && input.select()),
  };
}

/** The key that a text means: itself, or that of the only row that is called so. */
async function keyNamed(database, column, text) {
  const { table: target, column: to } = column.references;
  if (!text || (isInteger(column) && /^[+-]?\d+$/.test(text))) return parse(text, column);
  const find = async (other, of) => other.rows({ filter: `${name(of.name)} = ${literal(text, of)}`, columns: listName(to), limit: 1, total: true }, { quiet: true });
  let named;
  try {
    const other = await database.table(target);
    const [key, label] = [other.column(to), labelColumn(other)];
    if (!isText(label) || label === key) return parse(text, column);
    if (!isInteger(column) && (await find(other, key).catch(() => ({ total: 0 }))).total) return parse(text, column);
    named = await find(other, label);
  } catch (error) {
    // Who may not see the rows gives a key.
    if (error.status) return parse(text, column);
    throw error;
  }
  if (named.total === 1) return named.rows[0][to];
  if (named.total > 1) throw new Error(`${column.name}: ${count(named.total)} rows of ${target} are called "${text}": choose one by its ${to}`);
  if (isInteger(column)) throw new Error(`${column.name}: no row of ${target} is called "${text}"`);
  return parse(text, column);
}

/** The fields of a row: a label, an editor and a switch to NULL for each column. `read` returns what differs from `row`. */
export function form(table, row, { creating } = {}) {
  // A new row begins with what the person has to give.
  const first = creating && table.columns.find((column) => !column.generated && !column.role && !(table.key.includes(column.name) && table.keys === "generated"));
  const fields = table.columns.map((column) => {
    const isFixed = (!creating && table.key.includes(column.name)) || !!column.generated;
    const isMade = creating && (table.key.includes(column.name) && table.keys === "generated" || column.role);
    const field = editor(table, column, row?.[column.name] ?? (creating ? column.default : null) ?? null);
    const input = field.element.matches?.("input,select,textarea") ? field.element : field.element.querySelector("input,select,textarea");
    const id = (input.id = `field-${column.name.replace(/\s/g, "_")}-${Math.random().toString(36).slice(2, 7)}`);
    if (column === first) input.autofocus = true;
    // To change a key, a row is deleted and another inserted. The database computes generated columns.
    if (isFixed) (input.tagName === "SELECT" || input.type === "file") ? (input.disabled = true) : (input.readOnly = true);
    let isNull = (row?.[column.name] ?? (creating ? column.default : null) ?? null) === null;
    let touched = false;
    const nullBox = column.nullable && !isFixed
      ? h("label", { className: "null" }, h("input", { type: "checkbox", checked: isNull, on: { change: (event) => ((isNull = event.target.checked), (touched = true)) } }), "NULL")
      : null;
    input.addEventListener("input", () => {
      touched = true;
      isNull = input.value === "null" && input.tagName === "SELECT";
      if (nullBox) nullBox.firstChild.checked = isNull;
    });
    const hint = [column.type, column.unique ? "unique" : "", column.references ? `→ ${column.references.table}` : "", column.generated ? "computed by the database" : isMade ? "made by the server if empty" : ""].filter(Boolean).join(" · ");
    return {
      column,
      element: h("div", { className: "field" }, h("label", { htmlFor: id }, column.name), h("span", { className: "hint" }, hint), field.element, nullBox),
      read() {
        if (column.generated) return NULL;
        if (isNull) return touched || !creating ? null : NULL;
        if (creating && !touched) return NULL;
        return field.read();
      },
    };
  });
  return {
    element: h("div", { className: "form" }, fields.map((field) => field.element)),
    async read() {
      const values = {};
      for (const { column, read } of fields) {
        const value = await read();
        if (value === NULL) continue;
        if (creating || JSON.stringify(value) !== JSON.stringify(row[column.name] ?? null)) values[column.name] = value;
      }
      return values;
    },
  };
}
