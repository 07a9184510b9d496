// The studio in a real Chromium: each test does what a person does, by the mouse or by the keyboard alone.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { MARKUP, newPage, PROGRAM, signIn, studio } from "./server.js";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const own = studio();
const { on } = own;

const cells = (page, column) => page.$$eval(`bobak-grid [role=gridcell][aria-colindex="${column + 2}"]`, (all) => all.sort((a, b) => a.dataset.row - b.dataset.row).map((cell) => cell.textContent));
const cell = (page, row, column) => page.locator(`bobak-grid [role=gridcell][data-row="${row}"][data-column="${column}"]`);
/** Waits until a cell has this text. */
const shows = (page, row, column, text) => page.waitForFunction(([row, column, text]) => document.querySelector(`[data-row="${row}"][data-column="${column}"]`)?.textContent === text, [row, column, text]);
const status = (page) => page.textContent(".title .status");
const ready = (page, text) => page.waitForFunction((text) => document.querySelector(".title .status")?.textContent.includes(text), text);
const sql = (page, text) =>
  page.evaluate(async (text) => {
    const response = await fetch("../databases/shop/sql?numbers=text", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ sql: text }) });
    return response.json();
  }, text);

test("a link signs in once, and says what to do then", async () => {
  const link = own.server.link;
  const first = await newPage(own.browser, own.server);
  await signIn(first, own.server);
  assert.ok(!first.url().includes("sign-in"), "the code leaves the address");
  const second = await newPage(own.browser, own.server);
  await second.goto(link);
  await second.waitForSelector(".sign-in");
  assert.match(await second.textContent(".problem"), /used already.*bobak serve/s);
  assert.equal(await second.evaluate(() => document.cookie), "", "scripts see no cookie");
  await first.click("button[aria-label='Sign out']");
  await first.waitForSelector(".sign-in");
  await first.context().close();
  await second.context().close();
});

on("the first view is fast and small", "", async (page) => {
  await page.reload();
  await page.waitForSelector("bobak-grid [role=gridcell]");
  const resources = await page.evaluate(() => performance.getEntriesByType("resource").filter((one) => /studio\//.test(one.name)).map((one) => one.encodedBodySize));
  const bytes = resources.reduce((sum, size) => sum + size, 0);
  assert.ok(bytes < 300_000, `${bytes} bytes`);
});

on("a grid scrolls through all rows", "#/data/shop/orders", async (page) => {
  await ready(page, "20,000 rows");
  const { rows } = await sql(page, "SELECT id FROM orders ORDER BY id LIMIT 1 OFFSET 12344");
  await page.focus("bobak-grid");
  await page.keyboard.press("Control+End");
  await page.waitForFunction(() => document.querySelector('[data-row="19999"][data-column="0"]')?.textContent);
  const { rows: last } = await sql(page, "SELECT max(id) FROM orders");
  assert.equal(await cell(page, 19_999, 0).textContent(), String(last[0][0]));
  await page.evaluate(() => (document.querySelector("bobak-grid").scrollTop = 12_344 * 28));
  await page.waitForFunction(() => document.querySelector('[data-row="12344"][data-column="0"]')?.textContent);
  assert.equal(await cell(page, 12_344, 0).textContent(), String(rows[0][0]));
  const elements = await page.$$eval("bobak-grid [role=row]", (all) => all.length);
  assert.ok(elements < 60, `${elements} rows are elements`);
});

on("hundreds of columns are reached and few are elements", "#/data/shop/wide", async (page) => {
  await ready(page, "300 rows");
  const reach = async (last) => {
    await page.focus("bobak-grid");
    await page.keyboard.press("End");
    await page.waitForSelector(`bobak-grid [data-row="0"][data-column="${last}"].active`);
    assert.equal(await cell(page, 0, last).textContent(), String(last));
    const columns = await page.$$eval("bobak-grid [role=columnheader]", (all) => all.length);
    assert.ok(columns < 40, `${columns} columns are elements`);
  };
  await reach(255);
  await page.goto(`${own.server.address}/studio/#/sql/shop?q=${encodeURIComponent("SELECT * FROM wider")}`);
  await page.waitForSelector(".output bobak-grid [role=gridcell]");
  await reach(299);
});

on("sort, search, filter and facets share one address", "#/data/shop/customer", async (page) => {
  await ready(page, "500 rows");
  await page.click("bobak-grid [role=columnheader] >> text=name");
  await page.waitForSelector("[aria-sort=ascending]");
  const { rows: [[least]] } = await sql(page, "SELECT min(name) FROM customer");
  await shows(page, 0, 1, least);
  const names = await cells(page, 1);
  assert.deepEqual(names, [...names].sort((a, b) => (a < b ? -1 : 1)));
  await page.click("text=Facets");
  await page.click("aside.facets section:has(h2:text-is('active')) button:has-text('true')");
  await ready(page, "match");
  const { rows } = await sql(page, "SELECT count(*) FROM customer WHERE active");
  assert.match(await status(page), new RegExp(`^${rows[0][0]} rows match`));
  await page.keyboard.press("/");
  await page.keyboard.type("an");
  const { rows: found } = await sql(page, "SELECT count(*) FROM customer WHERE active AND (name GLOB '*an*' OR email GLOB '*an*' OR city GLOB '*an*' OR country GLOB '*an*')");
  await ready(page, `${found[0][0]} row`);
  const shared = page.url();
  const other = await page.context().newPage();
  await other.goto(shared);
  await ready(other, `${found[0][0]} row`);
  assert.equal(await other.inputValue("input.filter"), "active = true");
  await other.fill("input.filter", "nosuch = 1");
  await other.keyboard.press("Enter");
  await other.waitForSelector(".problem:not([hidden])");
  assert.match(await other.textContent(".problem"), /nosuch/);
  // Another table is a key away, from a field as well.
  await other.focus("input.filter");
  await other.keyboard.press("Control+k");
  await other.keyboard.type("wid");
  await other.keyboard.press("Enter");
  await ready(other, "300 rows");
});

on("an editor changes only what is typed", "#/data/shop/exact", async (page) => {
  const stored = async (what, id) => (await sql(page, `SELECT ${what} FROM exact WHERE id = ${id}`)).rows[0][0];
  const edit = async (row, column, change) => {
    await cell(page, row, column).click();
    await page.keyboard.press("F2");
    const field = page.locator("input:focus, textarea:focus");
    const text = await field.inputValue();
    await field.fill(change(text));
    await page.keyboard.press("Enter");
  };
  const until = async (what, id, expected) => {
    for (let tries = 0; tries < 50 && (await stored(what, id)) !== expected; tries += 1) await page.waitForTimeout(100);
    assert.equal(await stored(what, id), expected);
  };
  await page.waitForSelector('bobak-grid [role=gridcell][data-row="2"]');
  assert.match(await cell(page, 0, 1).textContent(), /12345678901234567890.*1\.10.*1e400/);
  // Documents have an editor in the row's page alone.
  await cell(page, 0, 1).click();
  await page.keyboard.press("F2");
  const area = page.locator("aside.drawer .field:has(label:text-is('j')) textarea");
  await area.fill((await area.inputValue()).replace('"x"', '"y"'));
  await page.click("aside.drawer button:has-text('Save')");
  await until("CAST(j AS TEXT) || ''", 1, '{"id":12345678901234567890,"name":"y","p":1.10,"list":[1e400]}');
  await page.keyboard.press("Escape");
  await edit(0, 2, () => "x");
  await until("typeof(a) || quote(a)", 1, "text'x'");
  await page.focus("bobak-grid");
  await page.keyboard.press("Control+z");
  await until("typeof(a) || quote(a)", 1, "integer1152921504606846976");
  await edit(1, 2, () => "2.51");
  await until("typeof(a) || quote(a)", 2, "real2.51");
  await edit(2, 2, () => "71");
  await until("typeof(a) || quote(a)", 3, "text'71'");
  await edit(0, 3, (text) => `${text}1`.replace("b\n", "b\nnew\n"));
  await until("hex(s)", 1, "610D0A620A6E65770A630D6431");
});

on("the keyboard alone edits, undoes and deletes", "#/data/shop/customer", async (page) => {
  await ready(page, "500 rows");
  await page.focus("bobak-grid");
  await page.keyboard.press("ArrowRight");
  const before = await cell(page, 0, 1).textContent();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("Ada Lovelace");
  await page.keyboard.press("Enter");
  await shows(page, 0, 1, "Ada Lovelace");
  assert.deepEqual((await sql(page, "SELECT name FROM customer WHERE id = 1")).rows, [["Ada Lovelace"]]);
  await page.keyboard.press("Control+z");
  await shows(page, 0, 1, before);
  // A wrong value stays in the editor, with what is wrong.
  for (let step = 0; step < 6; step++) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("F2");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("12.x");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".message.error");
  assert.match(await page.textContent(".message.error"), /credit: expected an amount/);
  await page.keyboard.press("Escape");
  // A row that nothing refers to is inserted, deleted, and comes back.
  await page.keyboard.press("Shift+Tab");
  await page.click("text=New row");
  await page.waitForSelector("dialog input:focus[id^='field-name-'], dialog textarea:focus[id^='field-name-']");
  await page.keyboard.type("Grace");
  await page.focus("dialog button:has-text('Insert')");
  await page.keyboard.press("Enter");
  await ready(page, "501 rows");
  await page.focus("bobak-grid");
  await page.keyboard.press("Control+End");
  await shows(page, 500, 1, "Grace");
  await page.keyboard.press("Space");
  await page.click(".selection >> text=Delete");
  await page.click("dialog footer >> text=Delete");
  await ready(page, "500 rows");
  await page.focus("bobak-grid");
  await page.keyboard.press("Control+z");
  await ready(page, "501 rows");
  assert.deepEqual((await sql(page, "SELECT name FROM customer WHERE id = 501")).rows, [["Grace"]]);
  await sql(page, "DELETE FROM customer WHERE id = 501");
});

on("two people editing one row see the conflict", "#/data/shop/product", async (page) => {
  await ready(page, "60 rows");
  await sql(page, "UPDATE product SET name = 'Theirs' WHERE id = 1");
  const edit = async (text) => {
    await cell(page, 0, 1).dblclick();
    await page.keyboard.press("Control+A");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
  };
  await edit("Mine");
  await page.waitForSelector("dialog[aria-label=Conflict]");
  assert.match(await page.textContent("dialog table"), /Theirs.*Mine/s);
  await page.click("text=Keep what is there");
  await shows(page, 0, 1, "Theirs");
  await sql(page, "UPDATE product SET name = 'Again' WHERE id = 1");
  await edit("Mine");
  await page.click("text=Write mine");
  await shows(page, 0, 1, "Mine");
  assert.deepEqual((await sql(page, "SELECT name FROM product WHERE id = 1")).rows, [["Mine"]]);
});

on("selected rows are changed together, and back", "#/data/shop/product", async (page) => {
  await ready(page, "60 rows");
  const before = (await sql(page, "SELECT id, weight FROM product ORDER BY id LIMIT 4")).rows;
  await page.focus("bobak-grid");
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+ArrowDown");
  assert.match(await page.textContent(".selection"), /3 rows selected/);
  await page.click(".selection >> text=Change");
  await page.selectOption("#bulk-column", "weight");
  await page.fill("dialog input[aria-label='New value']", "7.25");
  await page.click("dialog button.primary");
  await shows(page, 2, 3, "7.25");
  const rows = async () => (await sql(page, "SELECT id, weight FROM product ORDER BY id LIMIT 4")).rows;
  assert.deepEqual((await rows()).map((row) => row[1]).slice(0, 3), [7.25, 7.25, 7.25]);
  await page.click(".message >> text=Undo");
  await page.waitForSelector("text=Undone");
  assert.deepEqual(await rows(), before);
});

/** Types a value into a cell. */
const type = async (page, row, column, text) => {
  await cell(page, row, column).dblclick();
  await page.keyboard.press("Control+A");
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
};
/** Makes tables by SQL, and shows the first one. */
const make = async (page, name, rows, ...statements) => {
  for (const statement of statements) assert.equal((await sql(page, statement)).title, undefined, statement);
  await page.goto(`${own.server.address}/studio/#/data/shop/${name}`);
  await ready(page, rows);
};
const undo = async (page, message) => {
  await page.focus("bobak-grid");
  await page.keyboard.press("Control+z");
  await page.waitForSelector(`.message:has-text('${message}')`);
};

on("edits of one cell are undone one by one, and never over another's", "#/data/shop/product", async (page) => {
  await make(page, "step", "1 row", "CREATE TABLE step (id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO step VALUES (1, 'p')");
  for (const text of ["u1", "u2", "u3"]) {
    await type(page, 0, 1, text);
    await shows(page, 0, 1, text);
  }
  for (const text of ["u2", "u1", "p"]) {
    await undo(page, "Undone: changed name.");
    await shows(page, 0, 1, text);
  }
  assert.equal(await page.locator("dialog").count(), 0);
  await type(page, 0, 1, "mine");
  await shows(page, 0, 1, "mine");
  await sql(page, "UPDATE step SET name = 'OTHER'");
  await type(page, 0, 1, "mine2");
  await page.click("dialog[aria-label=Conflict] >> text=Keep what is there");
  await shows(page, 0, 1, "OTHER");
  await page.focus("bobak-grid");
  await page.keyboard.press("Control+z");
  await page.waitForSelector("dialog[aria-label=Conflict] td:text-is('OTHER')");
  await page.click("text=Keep what is there");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.deepEqual((await sql(page, "SELECT name FROM step")).rows, [["OTHER"]]);
  await sql(page, "DROP TABLE step");
});

on("an inserted row that somebody has changed stays", "#/data/shop/product", async (page) => {
  await make(page, "fresh", "0 rows", "CREATE TABLE fresh (a TEXT PRIMARY KEY, v TEXT)", "CREATE TABLE part (id INTEGER PRIMARY KEY, a TEXT REFERENCES fresh(a) ON DELETE CASCADE)");
  const insert = async () => {
    await page.click("text=New row");
    await page.fill("dialog [id^='field-a-']", "new");
    await page.click("dialog button:has-text('Insert')");
    await ready(page, "1 row");
  };
  await insert();
  await undo(page, "Undone: inserted a row.");
  await ready(page, "0 rows");
  await insert();
  await sql(page, "UPDATE fresh SET v = 'precious'");
  await undo(page, "has been changed since: it was not deleted");
  await sql(page, "DELETE FROM fresh");
  await page.reload();
  await ready(page, "0 rows");
  await insert();
  await sql(page, "INSERT INTO part VALUES (1, 'new')");
  await undo(page, "The inserted row stays: if it is deleted, 1 row of part will be deleted.");
  assert.deepEqual((await sql(page, "SELECT count(*) FROM fresh JOIN part USING (a)")).rows, [["1"]]);
  await sql(page, "DROP TABLE part");
  await sql(page, "DROP TABLE fresh");
});

on("rows that were changed together keep what others have written since", "#/data/shop/product", async (page) => {
  await make(page, "par", "2 rows", "CREATE TABLE par (id INTEGER PRIMARY KEY, n INTEGER)", "INSERT INTO par VALUES (1, 1), (2, 2)");
  await page.focus("bobak-grid");
  await page.keyboard.press("Shift+ArrowDown");
  await page.click(".selection >> text=Change");
  await page.fill("dialog input[aria-label='New value']", "50");
  await page.click("dialog button.primary");
  await shows(page, 1, 1, "50");
  await sql(page, "UPDATE par SET n = 777 WHERE id = 1");
  await undo(page, "Undone in 1 of 2 rows");
  assert.deepEqual((await sql(page, "SELECT n FROM par ORDER BY id")).rows, [["777"], ["2"]]);
  await sql(page, "DROP TABLE par");
});

on("deleting a row says what goes with it, and is not undone then", "#/data/shop/product", async (page) => {
  await make(
    page,
    "owner",
    "3 rows",
    "CREATE TABLE owner (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, UNIQUE (a, b))",
    "CREATE TABLE casc (id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owner(id) ON DELETE CASCADE)",
    "CREATE TABLE unset (id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owner(id) ON DELETE SET NULL)",
    "CREATE TABLE pair (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, FOREIGN KEY (a, b) REFERENCES owner(a, b) ON DELETE CASCADE)",
    "INSERT INTO owner VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)",
    "INSERT INTO casc VALUES (1, 1)",
    "INSERT INTO unset VALUES (1, 1), (2, 1), (3, 2)",
    "INSERT INTO pair VALUES (1, 1, 1), (2, 2, 2)",
  );
  const choose = async (row) => {
    await cell(page, row, 0).click();
    await page.keyboard.press("Space");
    await page.click(".selection >> text=Delete");
  };
  await choose(0);
  await page.waitForSelector("dialog p:has-text('Delete the row 1 of owner?')");
  const text = await page.textContent("dialog p");
  for (const part of ["1 row of casc will be deleted", "2 rows of unset will have NULL in owner_id", "1 row of pair will be deleted", "This can't be undone here."]) assert.ok(text.includes(part), text);
  await page.click("dialog footer >> text=Delete");
  await page.waitForSelector(".message:has-text('Deleted a row with what depended on it.')");
  await ready(page, "2 rows");
  assert.equal(await page.locator(".message button:text-is('Undo')").count(), 0);
  // A row on which nothing depends comes back.
  await choose(1);
  await page.waitForSelector("dialog p:text-is('Delete the row 3 of owner?')");
  await page.click("dialog footer >> text=Delete");
  await ready(page, "1 row");
  await undo(page, "Undone: deleted a row.");
  await ready(page, "2 rows");
  for (const name of ["pair", "unset", "casc", "owner"]) await sql(page, `DROP TABLE ${name}`);
});

on("a name that exactly one row has is its key", "#/data/shop/product", async (page) => {
  await make(page, "visit", "1 row", "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO person VALUES (1, 'Ada'), (2, 'Same'), (3, 'Same')", "CREATE TABLE visit (id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES person(id))", "INSERT INTO visit VALUES (1, 2)");
  await type(page, 0, 1, "Ada");
  await shows(page, 0, 1, "1");
  await type(page, 0, 1, "Same");
  await page.waitForSelector(`.message.error:has-text('2 rows of person are called "Same": choose one by its id')`);
  await page.keyboard.press("Control+A");
  await page.keyboard.type("3");
  await page.keyboard.press("Enter");
  await shows(page, 0, 1, "3");
  await sql(page, "DROP TABLE visit");
  await sql(page, "DROP TABLE person");
});

on("a vector is short in its cell, edited in its row, and leads to the nearest rows", "#/data/shop/customer", async (page) => {
  await sql(page, "CREATE TABLE document (id INTEGER PRIMARY KEY, title TEXT NOT NULL, embedding VECTOR_F32(4))");
  const add = (row) => page.evaluate(async (row) => (await fetch("../databases/shop/tables/document/rows", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(row) })).status, row);
  for (const [title, embedding] of [["east", [1, 0, 0, 0]], ["nearly east", [0.9, 0.123456, 0, 0]], ["north", [0, 2, 0, 0]], ["nowhere", null]]) assert.equal(await add({ title, embedding }), 201);
  await page.goto(`${own.server.address}/studio/#/data/shop/document`);
  await ready(page, "4 rows");
  await shows(page, 1, 2, "[0.9, 0.123, 0, …] 4 numbers");
  await shows(page, 3, 2, "NULL");
  // Typing opens the row, where the numbers are a list.
  await page.focus("bobak-grid");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  const numbers = page.locator("aside.drawer .field:has(label:text-is('embedding')) textarea");
  assert.equal(await numbers.inputValue(), "[1,0,0,0]");
  await numbers.fill("[1, 0]");
  await page.click("aside.drawer button:text-is('Save')");
  await page.waitForSelector("text=embedding: expected 4 numbers");
  await numbers.fill("[1, 0, 0.25, 0]");
  await page.click("aside.drawer button:text-is('Save')");
  await shows(page, 0, 2, "[1, 0, 0.25, …] 4 numbers");
  await page.click("summary:text-is('Nearest rows by embedding')");
  const found = () => page.$$eval("aside.drawer details ol.related li", (all) => all.map((one) => one.textContent));
  await page.waitForSelector("aside.drawer details ol.related li");
  assert.deepEqual((await found()).map((text) => text.replace(/[\d.]+$/, "").trim()), ["2 nearly east", "3 north"]);
  await page.selectOption("aside.drawer select[aria-label=Distance]", "dot");
  await page.waitForSelector("aside.drawer details ol.related li:has-text('-0.9000')");
  await page.click("aside.drawer details ol.related a:text-is('2 nearly east')");
  await page.waitForSelector("aside.drawer[aria-label='document 2']");
  await sql(page, "DROP TABLE document");
});

on("a row shows related rows and its history, and restores it", "#/data/shop/orders?row=7", async (page) => {
  await page.waitForSelector(".drawer .related");
  const { rows } = await sql(page, "SELECT c.name FROM orders o JOIN customer c ON c.id = o.customer_id WHERE o.id = 7");
  await page.waitForSelector(`.related >> text=${rows[0][0]}`);
  await sql(page, "UPDATE orders SET status = CASE status WHEN 'paid' THEN 'sent' ELSE 'paid' END WHERE id = 7");
  const [[now]] = (await sql(page, "SELECT status FROM orders WHERE id = 7")).rows;
  await page.reload();
  await page.click("summary:has-text('History')");
  await page.waitForSelector(`.history ins:text-is('${now}')`);
  await page.click("text=Restore these values");
  await page.click("dialog footer >> text=Restore");
  await page.waitForSelector(".message >> text=Changed status");
  assert.notEqual((await sql(page, "SELECT status FROM orders WHERE id = 7")).rows[0][0], now);
  await page.click(".related >> text=customer_id");
  await ready(page, "1 row match");
});

on("stored markup stays text", "#/data/shop", async (page) => {
  await page.click(".tables a:has-text('<img')");
  await ready(page, "1 row");
  assert.equal(await cell(page, 0, 1).textContent(), MARKUP);
  assert.equal(await page.textContent("h1"), MARKUP);
  await page.focus("bobak-grid");
  await page.keyboard.press("Shift+Enter");
  await page.waitForSelector(".drawer .form");
  await page.keyboard.press("Escape");
  await page.click("text=Facets");
  await page.waitForSelector(".facets li button");
  for (const path of ["#/schema/shop", "#/live/shop", "#/server/shop"]) {
    await page.goto(`${own.server.address}/studio/${path}`);
    await page.waitForSelector(".page");
    await page.waitForTimeout(100);
  }
  const statement = encodeURIComponent(`SELECT '${MARKUP}' AS "a <b>", 1 AS n`);
  await page.goto(`${own.server.address}/studio/#/sql/shop?q=${statement}`);
  await page.waitForSelector(".output bobak-grid [role=gridcell]");
  await page.click("button:has-text('Chart')");
  await page.waitForSelector("svg.chart");
  assert.equal(await page.locator("main img, main script, .side img").count(), 0);
});

on("views are read only, tables without a key are not; a view that fails says so", "#/data/shop/sales", async (page) => {
  await ready(page, "rows");
  assert.equal(await page.locator("text=New row").count(), 0);
  assert.equal(await page.getAttribute("bobak-grid", "aria-readonly"), "true");
  await page.focus("bobak-grid");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".drawer dl");
  // SQLite's row number stands in for the key, which is not edited.
  await page.goto(`${own.server.address}/studio/#/data/shop/keyless`);
  await ready(page, "1 row");
  await page.focus("bobak-grid");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".message:has-text('A key is not changed')");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.type("yes");
  await page.keyboard.press("Enter");
  await shows(page, 0, 1, "yes");
  await page.goto(`${own.server.address}/studio/#/data/shop/broken`);
  await page.waitForSelector(".problem:not([hidden]), .empty");
  await page.click(".tables a:has-text('customer')");
  await ready(page, "500 rows");
});

on("SQL completes names, runs, charts, explains and cancels", "#/sql/shop", async (page) => {
  await page.focus("#sql");
  await page.keyboard.type("SELECT status, count(*) AS n FROM ord");
  await page.waitForSelector(".completions [aria-selected=true]");
  await page.keyboard.press("Tab");
  assert.match(await page.inputValue("#sql"), /FROM orders$/);
  await page.keyboard.type(" WHERE id > :least GROUP BY status");
  await page.keyboard.press("Escape");
  await page.fill("input[name=':least']", "10");
  await page.focus("#sql");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".output bobak-grid [role=gridcell]");
  assert.equal((await cells(page, 0)).length, 4);
  await page.click("button:has-text('Chart')");
  await page.waitForSelector("svg.chart rect.mark");
  assert.equal(await page.locator("svg.chart rect.mark").count(), 4);
  await page.click("button:has-text('Explain')");
  await page.waitForSelector(".plan li");
  const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Escape").then(() => page.click("button:has-text('Run')")).then(() => page.click("button:has-text('CSV')"))]);
  assert.equal(download.suggestedFilename(), "result.csv");
  await page.fill("#sql", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n");
  await page.keyboard.press("Control+Enter");
  await page.click("button:has-text('Cancel'):enabled");
  await page.waitForSelector("text=Canceled");
  await page.fill("#sql", "SELECT nosuch FROM orders");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".output .problem");
  assert.match(await page.textContent(".output .problem"), /nosuch/);
});

on("changes appear as they happen", "#/live/shop", async (page) => {
  // Tables that are not tracked are left out.
  await page.waitForSelector(".status:has-text('connected')");
  assert.deepEqual(await page.$$eval(".boxes label:has(input:checked)", (all) => all.map((label) => label.textContent)), ["customer", "orders"]);
  await sql(page, "UPDATE orders SET total = 77.25 WHERE id = 9");
  await page.waitForSelector(".events li.update:has-text('orders 9')");
  assert.match(await page.textContent(".events li"), /operator · .*77\.25/s);
  await sql(page, "UPDATE customer SET city = 'Bern' WHERE id = 2");
  await page.waitForSelector(".events li.update:has-text('customer 2')");
});

on("a file is previewed and imported, and a wrong one changes nothing", "#/data/shop/product", async (page) => {
  await ready(page, "60 rows");
  const file = join(own.server.folder, "products.csv");
  const choose = async (content) => {
    writeFileSync(file, content);
    await page.click("button.more");
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click("text=Import a file")]);
    await chooser.setFiles(file);
  };
  await choose('id,name,price\n101,"A, ""b""",1.5\n102,C,2\n');
  await page.waitForSelector("dialog td:text-is('A, \"b\"')");
  await page.click("dialog button.primary");
  await ready(page, "62 rows");
  await choose("id,name,price\n103,D,3\n104,E,x\n");
  await page.click("dialog button.primary");
  await page.waitForSelector("dialog .problem:not(:empty)");
  assert.match(await page.textContent("dialog .problem"), /row 2.*nothing was written/);
  await page.click("dialog button[aria-label=Close]");
  await choose("id,nosuch\n1,2\n");
  await page.waitForSelector("dialog .problem:has-text('no column nosuch')");
  assert.ok(await page.isDisabled("dialog button:text-is('Import')"));
  await page.keyboard.press("Escape");
  assert.deepEqual((await sql(page, "SELECT count(*) FROM product")).rows, [["62"]]);
  await sql(page, "DELETE FROM product WHERE id > 100");
});

on("a workbook is previewed and imported", "#/data/shop/customer", async (page) => {
  await ready(page, "500 rows");
  const rows = "SELECT * FROM customer WHERE id <= 20 ORDER BY id";
  const before = (await sql(page, rows)).rows;
  execFileSync(PROGRAM, ["query", "shop.db", rows, "--output", "customer.xlsx"], { cwd: own.server.folder, stdio: "ignore" });
  await sql(page, "UPDATE customer SET credit = 0, born = NULL, notes = '[]', active = NOT active, photo = NULL WHERE id <= 20");
  assert.notDeepEqual((await sql(page, rows)).rows, before);
  const choose = async () => {
    await page.click("button.more");
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click("text=Import a file")]);
    await chooser.setFiles(join(own.server.folder, "customer.xlsx"));
  };
  await choose();
  await page.waitForSelector("dialog p:has-text('Workbook, ')");
  assert.match(await page.textContent("dialog"), /20 rows/);
  await page.selectOption("#import-mode", "upsert");
  await page.click("dialog button.primary");
  await page.waitForSelector("dialog", { state: "detached" });
  assert.deepEqual((await sql(page, rows)).rows, before);
  writeFileSync(join(own.server.folder, "customer.xlsx"), Buffer.from("PK\x03\x04 and nothing that is an archive"));
  await choose();
  await page.waitForSelector(".message.error:has-text('the archive is damaged')");
  assert.deepEqual((await sql(page, rows)).rows, before);
});

on("the last request is shown as a program", "#/data/shop/customer?filter=id%20%3C%205", async (page) => {
  await ready(page, "4 rows match");
  await page.click("text=Server and API");
  await page.waitForSelector("pre.code");
  for (const [language, word] of [["curl", "curl -X GET"], ["Python", "urllib.request"], ["TypeScript", "await fetch"], ["Go", "http.NewRequest"], ["Rust", "ureq::run"]]) {
    await page.selectOption("#language", language);
    assert.ok((await page.textContent("pre.code")).includes(word), language);
  }
});

for (const width of [390, 1440]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`no page has an accessibility problem, or is wider than the screen: ${width}, ${colorScheme}`, async () => {
      const page = await newPage(own.browser, own.server, { storageState: own.state, colorScheme, viewport: { width, height: 800 }, bypassCSP: true });
      const problems = [];
      const q = encodeURIComponent("SELECT status, count(*) AS n FROM orders GROUP BY status");
      const paths = ["data/shop/customer?facets=active", "data/shop/orders?row=3", "data/shop/wide", `sql/shop?q=${q}`, "live/shop", "schema/shop", "admin/shop", "server/shop", "data/shop/nosuch"];
      for (const path of paths) {
        await page.goto(`${own.server.address}/studio/#/${path}`);
        await page.waitForSelector(".page, .empty");
        await page.waitForTimeout(350);
        await page.evaluate(() => window.axe) ?? (await page.addScriptTag({ path: AXE }));
        const found = await page.evaluate(async () => (await window.axe.run(document)).violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" | ")}`));
        problems.push(...found.map((one) => `${path}: ${one}`));
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (overflow > 0) problems.push(`${path} is ${overflow} pixels too wide`);
      }
      assert.deepEqual(problems, []);
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });
  }
}

test("tabs keep what they show while the server restarts", async () => {
  const context = await own.browser.newContext({ storageState: own.state });
  const pages = [];
  for (let index = 0; index < 10; index++) {
    const page = await context.newPage();
    await page.goto(`${own.server.address}/studio/#/data/shop/customer?filter=id%20%3C%20${index + 2}`);
    await ready(page, "match");
    pages.push(page);
  }
  const address = own.server.address.replace("http://", "");
  await own.server.kill();
  await pages[0].bringToFront();
  await pages[0].fill("input.filter", "id = 7");
  await pages[0].keyboard.press("Enter");
  await pages[0].waitForSelector(".problem:has-text('bobak serve')");
  await own.server.start(address);
  await pages[0].fill("input.filter", "id = 8");
  await pages[0].keyboard.press("Enter");
  await pages[0].waitForSelector("dialog:has-text('restarted')");
  const fresh = await context.newPage();
  await fresh.goto(own.server.link);
  await fresh.waitForSelector("bobak-grid [role=gridcell]");
  // Signing in once is enough for all tabs.
  await ready(pages[0], "1 row");
  await shows(pages[0], 0, 0, "8");
  for (const [index, page] of pages.entries()) {
    if (!index) continue;
    await page.bringToFront();
    assert.match(await status(page), new RegExp(`^${index + 1} rows? match`));
    await page.keyboard.press("/");
    await page.keyboard.type("zzzz");
    await ready(page, "0 rows");
  }
  await context.close();
});
