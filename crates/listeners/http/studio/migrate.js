// Changes of the schema: forms that make the steps of a migration, which is shown in words and in SQL before it runs.

import { json } from "./api.js";
import { button, dialog, fill, h, notify, save } from "./dom.js";
import { showTables } from "./app.js";

/** The types of columns, with their names for people. */
export const TYPES = [["i64", "integer"], ["text", "text"], ["f64", "number"], ["currency", "money"], ["bool", "yes/no"], ["date", "date"], ["time", "time"], ["datetime", "date and time"], ["timestamp", "timestamp (UTC)"], ["json", "JSON"], ["uuid", "UUID"], ["bytes", "bytes"]];
const DELETES = [["restrict", "rejects the delete"], ["cascade", "deletes this row too"], ["set_null", "sets NULL here"]];

/** The steps that wait, for each database. */
const waiting = new Map();
export const stepsOf = (database) => waiting.get(database.name) ?? waiting.set(database.name, []).get(database.name);

const word = (text) => (/^[\p{L}\p{N}_-]+$/u.test(text) ? text : JSON.stringify(text));

/** The migrations of a database, and its tables as migrations write them. */
export const read = (database) => json("GET", `${database.path}migrations`, { quiet: true });

/** Adds a step, and shows what waits. `done` is called when the migration ran. */
async function add(database, name, step, done) {
  stepsOf(database).push({ name, step });
  await review(database, done);
}

/** A form in a dialog. `fields` are elements; `make` returns the result, or throws an error to show. */
function ask(title, label, fields, make) {
  return dialog(title, (close) => {
    const problem = h("p", { className: "problem", role: "alert" });
    const submit = (event) => {
      event.preventDefault();
      try {
        close(make());
      } catch (error) {
        fill(problem, error.message);
      }
    };
    return h("form", { className: "form", on: { submit } }, fields, problem, h("footer", {}, h("button", { className: "primary" }, label)));
  });
}

const labeled = (text, input, hint) => {
  input.id ||= `field-${Math.random().toString(36).slice(2, 8)}`;
  return h("div", { className: "field" }, h("label", { htmlFor: input.id }, text), h("span", { className: "hint" }, hint ?? ""), input);
};
const box = (text, input) => h("label", { className: "check" }, input, text);
const select = (options, value) => {
  const element = h("select", {}, options.map(([name, label]) => h("option", { value: name }, label ?? name)));
  element.value = value ?? options[0][0];
  return element;
};

/** A default or the value of existing rows, as it is stored. */
function stored(text, type) {
  if (type === "i64" || type === "f64") {
    if (text.trim() === "" || !Number.isFinite(Number(text))) throw new Error("The default is no number.");
    return Number(text);
  }
  if (type === "bool") return /^(true|yes|1)$/i.test(text) ? 1 : 0;
  if (type === "currency") {
    if (!/^-?\d+(\.\d{1,4})?$/.test(text)) throw new Error("The default is no amount, such as 12.50.");
    const [whole, part = ""] = text.replace("-", "").split(".");
    return Number(`${text.startsWith("-") ? "-" : ""}${whole}${part.padEnd(4, "0")}`);
  }
  if (type === "text") return text;
  throw new Error(`A default of this type is set in SQL or in a migration's file.`);
}

/** The text of a stored value, if the form can show it. */
function shown(value, type) {
  if (value === undefined || typeof value === "object") return "";
  if (type === "bool") return value ? "true" : "false";
  if (type === "currency") return String(Number(value) / 10_000);
  return String(value);
}

/** The inputs of a column: `{elements, read}`. */
function columnFields(tables, column, { isNew }) {
  const name = h("input", { value: column.name ?? "", required: true, autocomplete: "off", spellcheck: false, readOnly: !isNew });
  const known = TYPES.some(([type]) => type === column.type) ? TYPES : [[column.type, column.type], ...TYPES];
  const type = select(column.type ? known : TYPES, column.type ?? "text");
  const nullable = h("input", { type: "checkbox", checked: column.nullable ?? true });
  const unique = h("input", { type: "checkbox", checked: column.unique ?? false });
  const first = h("input", { value: shown(column.default, column.type), autocomplete: "off" });
  const check = h("input", { value: column.check ?? "", autocomplete: "off", spellcheck: false, placeholder: "such as age >= 0" });
  const keys = tables.filter((table) => table.key.length === 1).map((table) => `${table.name}.${table.key[0]}`);
  const target = column.references ? `${column.references.table}.${column.references.column}` : "";
  const refers = select([["", "nothing"], ...[...new Set([...keys, ...(target ? [target] : [])])].map((key) => [key])], target);
  const onDelete = select(DELETES, column.references?.on_delete === "no_action" ? "restrict" : column.references?.on_delete);
  const value = h("input", { autocomplete: "off" });
  const hideDelete = () => (deleteField.hidden = !refers.value);
  const deleteField = labeled("A delete of that row", onDelete);
  const follow = () => {
    const [table, key] = split(refers.value);
    const found = tables.find((one) => one.name === table)?.columns.find((one) => one.name === key);
    if (found && isNew) type.value = found.type;
    hideDelete();
  };
  refers.addEventListener("change", follow);
  hideDelete();
  return {
    elements: [
      labeled("Name", name),
      labeled("Type", type),
      h("div", { className: "boxes" }, box("May be NULL", nullable), box("Unique", unique)),
      labeled("Default", first, "of new rows"),
      isNew && column.isOfTable ? labeled("Value of existing rows", value, "if it differs") : null,
      labeled("Only if", check, "a condition on each row"),
      labeled("Refers to", refers),
      deleteField,
    ],
    fill: () => (value.value === "" ? "" : ` fill ${JSON.stringify(stored(value.value, type.value))}`),
    read() {
      const { references, default: before, check: _, isOfTable, storage, max_chars: most, ...rest } = column;
      const made = { ...rest, name: name.value.trim(), type: type.value, nullable: nullable.checked, unique: unique.checked };
      // A stored form and a length belong to the type.
      if (type.value === column.type) Object.assign(made, storage === undefined ? {} : { storage }, most === undefined ? {} : { max_chars: most });
      if (first.value !== shown(before, column.type)) {
        if (first.value !== "") made.default = stored(first.value, type.value);
      } else if (before !== undefined) made.default = before;
      if (check.value.trim()) made.check = check.value.trim();
      const [table, key] = split(refers.value);
      if (table) made.references = { ...(refers.value === target ? references : {}), table, column: key, on_delete: onDelete.value };
      return made;
    },
  };
}

const split = (text) => (text ? [text.slice(0, text.lastIndexOf(".")), text.slice(text.lastIndexOf(".") + 1)] : []);

export async function addColumn(database, tables, table, done) {
  const fields = columnFields(tables, { isOfTable: true }, { isNew: true });
  const made = await ask(`New column of ${table.name}`, "Next", fields.elements, () => [fields.read(), fields.fill()]);
  if (made) await add(database, `add-${made[0].name}`, `add column ${word(table.name)} ${JSON.stringify(made[0])}${made[1]}`, done);
}

export async function changeColumn(database, tables, table, column, done) {
  const fields = columnFields(tables, column, { isNew: false });
  const made = await ask(`Change ${table.name}.${column.name}`, "Next", fields.elements, () => fields.read());
  if (made) await add(database, `change-${column.name}`, `change column ${word(table.name)} ${JSON.stringify(made)}`, done);
}

const rename = (title, value) => {
  const input = h("input", { value, required: true, autocomplete: "off", spellcheck: false });
  return ask(title, "Next", [labeled("New name", input)], () => input.value.trim());
};

export async function renameColumn(database, table, column, done) {
  const to = await rename(`Rename ${table.name}.${column.name}`, column.name);
  if (to && to !== column.name) await add(database, `rename-${column.name}`, `rename column ${word(table.name)}.${word(column.name)} to ${word(to)}`, done);
}

export async function renameTable(database, table, done) {
  const to = await rename(`Rename ${table.name}`, table.name);
  if (to && to !== table.name) await add(database, `rename-${table.name}`, `rename table ${word(table.name)} to ${word(to)}`, done);
}

export const dropColumn = (database, table, column, done) => add(database, `drop-${column.name}`, `drop column ${word(table.name)}.${word(column.name)}`, done);
export const dropTable = (database, table, done) => add(database, `drop-${table.name}`, `drop table ${word(table.name)}`, done);
export const dropIndex = (database, table, index, done) => add(database, `drop-${index.name}`, `drop index ${word(table.name)}.${word(index.name)}`, done);

/** Plans an index of these columns. */
export const planIndex = (database, table, columns, done) => add(database, `index-${table.name}`, `add index ${word(table.name)} ${JSON.stringify({ name: `${table.name}_${columns.join("_")}`, columns, unique: false })}`, done);

/** Asks for the columns of an index; those of `columns` are chosen. */
export async function addIndex(database, table, columns, done) {
  const boxes = table.columns.map((column) => h("input", { type: "checkbox", value: column.name, checked: columns.includes(column.name) }));
  const unique = h("input", { type: "checkbox" });
  const name = h("input", { autocomplete: "off", spellcheck: false, placeholder: "made from the columns if empty" });
  const fields = [h("fieldset", { className: "boxes" }, h("legend", {}, "Columns"), boxes.map((one) => box(one.value, one))), box("Unique: no two rows may agree in all of them", unique), labeled("Name", name)];
  const made = await ask(`New index of ${table.name}`, "Next", fields, () => {
    const chosen = boxes.filter((one) => one.checked).map((one) => one.value);
    // Those that were asked for come first, in their order.
    const ordered = [...columns.filter((one) => chosen.includes(one)), ...chosen.filter((one) => !columns.includes(one))];
    if (!ordered.length) throw new Error("Choose a column.");
    return { name: name.value.trim() || `${table.name}_${ordered.join("_")}`, columns: ordered, unique: unique.checked };
  });
  if (made) await add(database, `index-${table.name}`, `add index ${word(table.name)} ${JSON.stringify(made)}`, done);
}

export async function createTable(database, tables, done) {
  const name = h("input", { required: true, autocomplete: "off", spellcheck: false });
  const key = select([["i64", "a number, counted up"], ["uuid", "a UUID"]]);
  const rows = h("div", { className: "rows" });
  const addRow = () => {
    const row = { name: h("input", { aria: { label: "Name of a column" }, placeholder: "column", autocomplete: "off", spellcheck: false }), type: select(TYPES, "text"), nullable: h("input", { type: "checkbox", checked: true }) };
    row.type.setAttribute("aria-label", "Type of the column");
    row.element = h("div", { className: "pair" }, row.name, row.type, box("NULL", row.nullable));
    row.element.row = row;
    rows.append(row.element);
    return row;
  };
  [addRow(), addRow(), addRow()];
  const made = await ask("New table", "Next", [labeled("Name", name), labeled("Key", key, "a column id"), h("div", { className: "label" }, "Columns"), rows, button("One more column", () => addRow().name.focus(), { picture: "plus" }), h("p", { className: "hint" }, "Columns that refer to other tables, and rules, are added to the table afterwards.")], () => {
    const columns = [...rows.children].map(({ row }) => row).filter((row) => row.name.value.trim());
    return { name: name.value.trim(), columns: [{ name: "id", type: key.value, nullable: false }, ...columns.map((row) => ({ name: row.name.value.trim(), type: row.type.value, nullable: row.nullable.checked }))], key: ["id"], indexes: [], given_key: false };
  });
  if (made) await add(database, `create-${made.name}`, `create table ${JSON.stringify(made)}`, done);
}

/** Shows the waiting steps in words and in SQL: to run, to save as a file, or to drop. */
export async function review(database, done) {
  const steps = stepsOf(database);
  const plain = (text) => text.replace(/[^\p{L}\p{N}_-]+/gu, "-").slice(0, 60) || "change";
  const name = h("input", { value: plain(steps[0]?.name ?? ""), required: true, autocomplete: "off", spellcheck: false });
  const result = await dialog(
    "Change the schema",
    (close) => {
      const shownPlan = h("div", { className: "plan-box", aria: { live: "polite" } });
      const problem = h("p", { className: "problem", role: "alert" });
      let plan;
      const send = (query) => json("POST", `${database.path}migrations${query}`, { body: { name: name.value.trim(), steps: steps.map(({ step }) => step).join("\n") }, quiet: query !== "" });
      const load = async () => {
        if (!steps.length) return close("discard");
        try {
          fill(problem, "");
          plan = await send("?dry_run=true");
          fill(
            shownPlan,
            h("ol", { className: "steps" }, plan.words.map((text, index) => h("li", {}, h("span", {}, text), button("Leave this step out", () => (steps.splice(index, 1), load()), { picture: "close", quiet: true })))),
            plan.loses_data ? h("p", { className: "warning" }, "Values are lost. A backup keeps them: the page Administration makes one.") : null,
            plan.sql.length ? h("details", { open: true }, h("summary", {}, "In SQL"), h("pre", { className: "code", tabIndex: 0, role: "region", aria: { label: "SQL" } }, plan.sql.map((text) => (text.startsWith("--") ? text : `${text};`)).join("\n"))) : null,
            h("details", {}, h("summary", {}, `As a file, ${plan.name}.migration`), h("pre", { className: "code", tabIndex: 0, role: "region", aria: { label: "File" } }, plan.file)),
          );
        } catch (error) {
          plan = undefined;
          fill(problem, error.message);
          fill(shownPlan, h("ol", { className: "steps" }, steps.map(({ step }, index) => h("li", {}, h("code", {}, step), button("Leave this step out", () => (steps.splice(index, 1), load()), { picture: "close", quiet: true })))));
        }
      };
      const run = async (event) => {
        event.preventDefault();
        try {
          const ran = await send("");
          steps.length = 0;
          close(ran);
        } catch (error) {
          fill(problem, error.message);
        }
      };
      const keep = async () => {
        await load();
        if (plan) save(`${plan.name}.migration`, "text/plain", plan.file);
      };
      name.addEventListener("change", load);
      load();
      return h("form", { className: "form", on: { submit: run } }, shownPlan, labeled("Name of the migration", name), problem, h("footer", {}, button("Discard", () => ((steps.length = 0), close("discard"))), button("Save as a file", keep, { picture: "down" }), button("Add another change", () => close("more")), h("button", { className: "primary" }, "Run")));
    },
    { wide: true },
  );
  if (result?.name) {
    notify(`${result.name} has run.`, result.can_be_undone ? { action: () => save(`${result.name}.migration`, "text/plain", result.file), label: "Save its file" } : {});
    await database.tables(true);
    await showTables();
  }
  await done?.(result);
}
