// The page of the schema: a diagram of the tables and their relations, and the columns of each.

import { link } from "./app.js";
import { button, fill, h, icon, menu, svg } from "./dom.js";
import * as migrate from "./migrate.js";
import { display, typeName } from "./values.js";

const [WIDTH, LINE, GAP_X, GAP_Y, MOST] = [200, 20, 90, 36, 10];

export async function page(main, { database, target, session }) {
  const [tables, plan] = await Promise.all([database.tables(true), migrate.read(database).catch(() => ({ tables: [], migrations: [] }))]);
  const shown = target.table ? tables.filter((table) => table.name === target.table) : tables;
  const canChange = !session.anonymous && !session.as;
  const again = (result) => {
    // Its table may have another name now, or be gone.
    if (result?.words?.some((text) => /^(Drop|Rename) the table/.test(text)) && target.table) return void (location.hash = link("schema", database.name));
    return page(main, { database, target, session });
  };
  const waiting = migrate.stepsOf(database).length;
  const view = { database, tables, plan, canChange, again };
  fill(
    main,
    h(
      "div",
      { className: "page schema" },
      h(
        "header",
        { className: "title" },
        h("h1", {}, icon("schema"), target.table ?? "Schema"),
        target.table ? h("a", { href: link("schema", database.name) }, "All tables") : h("span", { className: "status" }, `${tables.length} tables and views`),
        h("span", { className: "space" }),
        canChange && !target.table ? button("New table", () => migrate.createTable(database, plan.tables, again), { picture: "plus", kind: "primary" }) : null,
      ),
      waiting ? h("p", { className: "waiting", role: "status" }, `${waiting} ${waiting === 1 ? "change waits" : "changes wait"}. `, button("Review and run", () => migrate.review(database, again), { kind: "primary" })) : null,
      target.table || !tables.length ? null : h("div", { className: "diagram", tabIndex: 0, role: "region", aria: { label: "Diagram" } }, diagram(database, tables)),
      shown.map((table) => describe(view, table)),
      tables.length ? null : h("p", { className: "hint" }, "There are no tables yet. Create one, or drop a file of rows into a new one."),
      target.table ? null : h("section", {}, h("h2", {}, "Migrations"), plan.migrations.length ? h("ol", { className: "migrations" }, plan.migrations.map(({ name, at }) => h("li", {}, h("code", {}, name), h("span", { className: "hint" }, ` ${at.slice(0, 16).replace("T", " ")}`)))) : h("p", { className: "hint" }, "None has run. Each change here is one: shown before it runs, and a file that ", h("code", {}, "bobak migrate"), " knows, if you save it.")),
    ),
  );
}

/** A table with its columns, indexes and what refers to it. */
function describe({ database, plan, canChange, again }, table) {
  const stored = plan.tables.find((one) => one.name === table.name);
  const canEdit = canChange && stored && !table.view;
  const head = ["Column", "Type", "NULL", "Default", "Refers to", "Notes", ...(canEdit ? ["Change"] : [])].map((text) => h("th", { scope: "col" }, text === "Change" ? h("span", { className: "hidden" }, text) : text));
  const notes = (column) => [table.key.includes(column.name) ? "key" : "", column.unique ? "unique" : "", column.max_chars ? `at most ${column.max_chars} characters` : "", column.role ?? "", column.check ? `only if ${column.check}` : ""].filter(Boolean).join(", ");
  const change = (column) => {
    const own = stored.columns.find((one) => one.name === column.name);
    const isKey = table.key.includes(column.name);
    return h("td", {}, button(`Change ${column.name}`, (event) => menu(event.currentTarget, [...(isKey ? [] : [["Change…", () => migrate.changeColumn(database, plan.tables, table, own, again)]]), ["Rename…", () => migrate.renameColumn(database, table, column, again)], ["Add an index…", () => migrate.addIndex(database, table, [column.name], again)], ...(isKey ? [] : [null, ["Drop…", () => migrate.dropColumn(database, table, column, again)]])]), { picture: "edit", quiet: true }));
  };
  const rows = table.columns.map((column) => h("tr", {}, h("th", { scope: "row" }, column.name), h("td", {}, typeName(column)), h("td", {}, column.nullable ? "yes" : "no"), h("td", {}, column.default === undefined ? "" : display(column.default, column)), h("td", {}, column.references ? h("a", { href: link("schema", database.name, column.references.table) }, `${column.references.table}.${column.references.column}`) : ""), h("td", {}, notes(column)), canEdit ? change(column) : null));
  // The index of a unique column belongs to its rule.
  const indexes = (stored?.indexes ?? []).filter((index) => !(index.unique && index.columns.length === 1 && table.column(index.columns[0])?.unique));
  return h(
    "section",
    {},
    h("h2", {}, icon(table.view ? "view" : "table"), h("a", { href: link("data", database.name, table.name) }, table.name)),
    canEdit ? h("div", { className: "tools" }, button("Add a column", () => migrate.addColumn(database, plan.tables, table, again), { picture: "plus" }), button("Add an index", () => migrate.addIndex(database, table, [], again), { picture: "plus" }), button(`More for ${table.name}`, (event) => menu(event.currentTarget, [["Rename the table…", () => migrate.renameTable(database, table, again)], null, ["Drop the table…", () => migrate.dropTable(database, table, again)]]), { picture: "menu", quiet: true })) : null,
    h("div", { className: "scroll", tabIndex: 0, role: "region", aria: { label: `Columns of ${table.name}` } }, h("table", { className: "plain" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))),
    indexes.length ? h("ul", { className: "indexes" }, indexes.map((index) => h("li", {}, `${index.unique ? "Unique index" : "Index"} ${index.name}: `, h("code", {}, index.columns.join(", ")), canEdit ? button(`Drop ${index.name}`, () => migrate.dropIndex(database, table, index, again), { picture: "trash", quiet: true }) : null))) : null,
    table.referrers.length ? h("p", { className: "hint" }, "Referred to by ", table.referrers.map((one, at) => [at ? ", " : "", h("a", { href: link("schema", database.name, one.table) }, `${one.table}.${one.column}`)])) : null,
  );
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
