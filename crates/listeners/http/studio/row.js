// The page of one row, beside the grid: all of its values, related rows, and its history.

import { link } from "./app.js";
import { listName, name } from "./api.js";
import { ask, button, count, fill, h, icon, notify, report } from "./dom.js";
import { form, labelColumn } from "./editors.js";
import { display, isVector, literal } from "./values.js";

/** Shows a row. Returns `{close, update}`. */
export function showRow(main, { table, row, canWrite, onSave, onDelete, onClose }) {
  const before = document.activeElement;
  const key = table.key.length ? table.keyOf(row) : undefined;
  const title = key === undefined ? "Row" : `${table.name} ${decodeURIComponent(key)}`;
  const content = h("div", { className: "content" });
  const drawer = h(
    "aside",
    { className: "drawer", aria: { label: title } },
    h("header", {}, h("h2", {}, title), canWrite ? button("Delete this row", () => onDelete(row), { picture: "trash", quiet: true }) : null, button("Close the row", () => close(), { picture: "close", quiet: true })),
    content,
  );
  let isOpen = true;
  let fields;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    drawer.remove();
    onClose();
    before?.focus?.({ preventScroll: true });
  };
  drawer.addEventListener("keydown", (event) => event.key === "Escape" && (event.stopPropagation(), close()));
  const draw = () => {
    fields = canWrite ? form(table, row) : null;
    fill(
      content,
      canWrite ? h("form", { on: { submit: save } }, fields.element, h("footer", {}, h("button", { className: "primary" }, "Save"))) : h("dl", { className: "values" }, table.columns.map((column) => [h("dt", {}, column.name), h("dd", { className: row[column.name] === null ? "null" : "" }, display(row[column.name], column))])),
      related(table, row),
      key === undefined ? null : table.columns.filter((column) => isVector(column) && row[column.name]).map((column) => nearest(table, row, column)),
      key === undefined ? null : historyOf(table, row, canWrite ? (values) => onSave(row, values) : null),
    );
  };
  const save = async (event) => {
    event.preventDefault();
    try {
      const values = await fields.read();
      if (!Object.keys(values).length) return notify("Nothing has changed.");
      if (await onSave({ ...row }, values)) drawer.querySelector("footer button").focus();
    } catch (error) {
      report(error);
    }
  };
  draw();
  main.firstElementChild.append(drawer);
  drawer.querySelector("header button:last-child").focus();
  return {
    close,
    update(other, now) {
      if (other !== key || !isOpen) return;
      row = now;
      draw();
    },
  };
}

/** Links to the rows that this one refers to, and to those that refer to it, with their number. */
function related(table, row) {
  const to = (target, column, value, of) => link("data", table.database.name, target, { filter: `${name(column)} = ${literal(value, of)}` });
  const forward = table.columns.filter((column) => column.references && row[column.name] != null).map((column) => {
    const { table: target, column: key } = column.references;
    const label = h("span", { className: "hint" });
    table.database.table(target).then(async (other) => {
      const shown = labelColumn(other);
      const { rows } = await other.rows({ filter: `${name(key)} = ${literal(row[column.name], column)}`, limit: 1 }, { quiet: true });
      fill(label, rows[0] ? String(rows[0][shown.name] ?? "") : "(missing)");
    }).catch(() => fill(label, "(not visible)"));
    return h("li", {}, h("a", { href: to(target, key, row[column.name], column) }, icon("out"), `${column.name} → ${target} ${display(row[column.name], column)}`), " ", label);
  });
  const back = table.referrers.filter(({ to: key }) => row[key] != null).map(({ table: other, column, to: key }) => {
    const number = h("span", { className: "count" }, "…");
    const of = table.column(key);
    table.database.table(other).then(async (source) => {
      const { rows } = await source.aggregate({ values: "count", filter: `${name(column)} = ${literal(row[key], of)}` }, { quiet: true });
      fill(number, count(rows[0]?.count ?? 0));
    }).catch(() => fill(number, "?"));
    return h("li", {}, h("a", { href: to(other, column, row[key], of) }, icon("table"), `${other} by ${column}`), " ", number);
  });
  if (!forward.length && !back.length) return null;
  return h("section", {}, h("h3", {}, "Related rows"), h("ul", { className: "related" }, forward, back));
}

/** The rows whose vectors are nearest to that of this one, with their distances. */
function nearest(table, row, column) {
  const list = h("ol", { className: "related" });
  const metric = h("select", { aria: { label: "Distance" } }, ["cosine", "euclidean", "dot"].map((one) => h("option", {}, one)));
  const section = h("details", {}, h("summary", {}, `Nearest rows by ${column.name}`), metric, list);
  const shown = labelColumn(table);
  const load = async () => {
    const columns = [...new Set([...table.key, shown.name])].map(listName).join(",");
    // The row itself is among them.
    const parameters = { nearest: listName(column.name), to: JSON.stringify(row[column.name]), metric: metric.value, columns, limit: 11 };
    try {
      const { rows, distances } = await table.rows(parameters);
      const others = rows.map((other, at) => ({ other, distance: distances[at] })).filter(({ other }) => table.keyOf(other) !== table.keyOf(row)).slice(0, 10);
      fill(
        list,
        others.map(({ other, distance }) => h("li", {}, h("a", { href: link("data", table.database.name, table.name, { row: table.keyOf(other) }) }, `${decodeURIComponent(table.keyOf(other))} ${display(other[shown.name], shown)}`), " ", h("span", { className: "count" }, distance.toPrecision(4)))),
        others.length ? null : h("li", { className: "hint" }, "There are no other rows with a vector."),
      );
    } catch (error) {
      fill(list, h("li", { className: "hint" }, error.message));
    }
  };
  section.addEventListener("toggle", () => section.open && load());
  metric.addEventListener("change", load);
  return section;
}

/** The changes of the row, with what each changed; a button restores the values before. */
function historyOf(table, row, restore) {
  const list = h("ol", { className: "history" });
  const section = h("details", {}, h("summary", {}, "History"), list);
  section.addEventListener("toggle", async () => {
    if (!section.open) return;
    try {
      const { changes } = await table.history(row);
      fill(
        list,
        [...changes].reverse().map((change) => {
          const [before, after] = [change.before ?? {}, change.after ?? {}];
          const names = table.columns.map((column) => column.name).filter((column) => JSON.stringify(before[column]) !== JSON.stringify(after[column]));
          const lines = names.map((column) => h("li", {}, h("b", {}, column), " ", change.before ? h("del", {}, display(before[column], table.column(column))) : null, " ", change.after ? h("ins", {}, display(after[column], table.column(column))) : null));
          return h(
            "li",
            {},
            h("div", {}, h("b", {}, change.kind ?? change.event ?? "change"), " by ", change.who ?? "unknown", " · ", String(change.at ?? "").replace("T", " ").slice(0, 19)),
            h("ul", {}, lines),
            restore && change.before && names.length
              ? button("Restore these values", async () => (await ask("Restore", `Set ${names.join(", ")} to the values before this change?`, [["Cancel", false], ["Restore", true, "primary"]])) && restore(Object.fromEntries(names.filter((column) => !table.key.includes(column)).map((column) => [column, before[column]]))))
              : null,
          );
        }),
        changes.length ? null : h("li", { className: "hint" }, "No changes are recorded."),
      );
    } catch (error) {
      fill(list, h("li", { className: "hint" }, error.status === 409 ? ["Changes of this table are not recorded. Start the server with ", h("code", {}, `--track ${table.name}`), "."] : error.message));
    }
  });
  return section;
}
