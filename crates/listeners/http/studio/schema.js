// The page of the schema: a diagram of the tables and their relations, and the columns of each.

import { link } from "./app.js";
import { fill, h, icon, svg } from "./dom.js";
import { display, typeName } from "./values.js";

const [WIDTH, LINE, GAP_X, GAP_Y, MOST] = [200, 20, 90, 36, 10];

export async function page(main, { database, target, session }) {
  const tables = await database.tables(true);
  const indexes = session.sql === "none" ? [] : await readIndexes(database);
  const shown = target.table ? tables.filter((table) => table.name === target.table) : tables;
  fill(
    main,
    h(
      "div",
      { className: "page schema" },
      h("header", { className: "title" }, h("h1", {}, icon("schema"), target.table ?? "Schema"), target.table ? h("a", { href: link("schema", database.name) }, "All tables") : h("span", { className: "status" }, `${tables.length} tables and views`)),
      target.table || !tables.length ? null : h("div", { className: "diagram", tabIndex: 0, role: "region", aria: { label: "Diagram" } }, diagram(database, tables)),
      shown.map((table) => describe(database, table, indexes)),
    ),
  );
}

function describe(database, table, indexes) {
  const head = ["Column", "Type", "NULL", "Default", "Refers to", "Notes"].map((text) => h("th", { scope: "col" }, text));
  const own = indexes.filter((index) => index.table === table.name);
  const notes = (column) => [table.key.includes(column.name) ? "key" : "", column.unique ? "unique" : "", column.max_chars ? `at most ${column.max_chars} characters` : "", column.role ?? ""].filter(Boolean).join(", ");
  return h(
    "section",
    {},
    h("h2", {}, icon(table.view ? "view" : "table"), h("a", { href: link("data", database.name, table.name) }, table.name)),
    h("div", { className: "scroll", tabIndex: 0, role: "region", aria: { label: `Columns of ${table.name}` } }, h("table", { className: "plain" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, table.columns.map((column) => h("tr", {}, h("th", { scope: "row" }, column.name), h("td", {}, typeName(column)), h("td", {}, column.nullable ? "yes" : "no"), h("td", {}, column.default === undefined ? "" : display(column.default, column)), h("td", {}, column.references ? h("a", { href: link("schema", database.name, column.references.table) }, `${column.references.table}.${column.references.column}`) : ""), h("td", {}, notes(column))))))),
    own.length ? h("ul", { className: "indexes" }, own.map((index) => h("li", {}, `${index.unique ? "Unique index" : "Index"} ${index.name}: `, h("code", {}, index.columns)))) : null,
    table.referrers.length ? h("p", { className: "hint" }, "Referred to by ", table.referrers.map((one, at) => [at ? ", " : "", h("a", { href: link("schema", database.name, one.table) }, `${one.table}.${one.column}`)])) : null,
  );
}

/** The indexes of an SQLite file; none of other engines. */
async function readIndexes(database) {
  const text = `SELECT m.tbl_name, i.name, i."unique", group_concat(c.name, ', ') FROM sqlite_schema m JOIN pragma_index_list(m.name) i JOIN pragma_index_info(i.name) c WHERE m.type = 'table' GROUP BY m.tbl_name, i.name ORDER BY 1, 2`;
  try {
    const { rows } = await database.sql(text, [], { quiet: true });
    return rows.map(([table, name, unique, columns]) => ({ table, name, unique: Number(unique) === 1, columns }));
  } catch {
    return [];
  }
}

/** Boxes in columns: a table is to the right of those that it refers to. */
function diagram(database, tables) {
  const named = new Map(tables.map((table) => [table.name.toLowerCase(), table]));
  const targets = (table) => table.columns.map((column) => column.references && named.get(column.references.table.toLowerCase())).filter((other) => other && other !== table);
  const depths = new Map();
  const depth = (table, path = new Set()) => {
    if (depths.has(table)) return depths.get(table);
    if (path.has(table)) return 0;
    path.add(table);
    const own = Math.max(-1, ...targets(table).map((other) => depth(other, path))) + 1;
    path.delete(table);
    depths.set(table, own);
    return own;
  };
  tables.forEach((table) => depth(table));
  const boxes = new Map();
  const bottoms = [];
  const height = (table) => (Math.min(table.columns.length, MOST) + 1 + (table.columns.length > MOST)) * LINE + 10;
  // A column that is too tall continues beside itself.
  const limit = Math.max(600, Math.sqrt(tables.length) * 260);
  let column = 0;
  for (let level = 0; level <= Math.max(0, ...depths.values()); level++) {
    bottoms[column] = 10;
    for (const table of tables.filter((one) => depths.get(one) === level)) {
      if (bottoms[column] + height(table) > limit && bottoms[column] > 10) bottoms[++column] = 10;
      boxes.set(table, { x: 10 + column * (WIDTH + GAP_X), y: bottoms[column], height: height(table) });
      bottoms[column] += height(table) + GAP_Y;
    }
    column += 1;
  }
  const lines = [];
  for (const [table, box] of boxes) {
    table.columns.forEach((one, index) => {
      const target = one.references && named.get(one.references.table.toLowerCase());
      const to = boxes.get(target);
      if (!to) return;
      const y = box.y + (Math.min(index, MOST) + 1.5) * LINE + 5;
      const at = Math.min(Math.max(0, target.columns.findIndex((other) => other.name === one.references.column)), MOST);
      const end = { x: to.x + WIDTH, y: to.y + (at + 1.5) * LINE + 5 };
      const isSame = to.x === box.x;
      const start = { x: isSame ? box.x + WIDTH : box.x, y };
      const bend = isSame ? 40 : -40;
      lines.push(svg("path", { class: "relation", d: `M${start.x} ${start.y} C${start.x + bend} ${start.y} ${end.x + 40} ${end.y} ${end.x} ${end.y}` }, svg("title", {}, `${table.name}.${one.name} → ${target.name}.${one.references.column}`)));
    });
  }
  const all = [...boxes].map(([table, box]) => {
    const rows = table.columns.slice(0, MOST).map((one, index) => [
      svg("text", { x: box.x + 10, y: box.y + (index + 2) * LINE - 2, class: table.key.includes(one.name) ? "key" : "" }, cut(one.name, 18)),
      svg("text", { x: box.x + WIDTH - 10, y: box.y + (index + 2) * LINE - 2, "text-anchor": "end", class: "type" }, typeName(one)),
    ]);
    const more = table.columns.length > MOST ? svg("text", { x: box.x + 10, y: box.y + (MOST + 2) * LINE - 2, class: "type" }, `and ${table.columns.length - MOST} more`) : [];
    return svg("a", { href: link("schema", database.name, table.name) }, svg("rect", { x: box.x, y: box.y, width: WIDTH, height: box.height, rx: 6, class: "box" }), svg("text", { x: box.x + 10, y: box.y + LINE - 3, class: "name" }, cut(table.name, 22)), rows, more);
  });
  const width = column * (WIDTH + GAP_X);
  const full = Math.max(...bottoms, 100);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${full}`, class: "tables" }, lines, all);
  picture.style.width = `${width}px`;
  return picture;
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
