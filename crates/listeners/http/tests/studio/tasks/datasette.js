// The tasks in Datasette with the plugins that its documentation names for them: datasette-upload-csvs,
// datasette-edit-schema and datasette-plot. Version 1.0a41 edits rows and tables itself.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { MORE_PRODUCTS, shop, SUPPLIERS } from "./shop.js";
import { BY_MONTH, SLOW } from "./tasks.js";

const ADDRESS = "http://127.0.0.1:8593";
const table = (name) => `a[href="/shop/${name}"]`;
const dialog = "dialog[open]";

export async function start(program) {
  const folder = mkdtempSync(join(tmpdir(), "peer-datasette-"));
  execFileSync("sqlite3", [join(folder, "shop.db")], { input: `PRAGMA journal_mode = wal;\n${shop()}` });
  const child = spawn(program, ["serve", "shop.db", "-p", "8593", "--root"], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const link = (await lines.next()).value;
  for (let tries = 0; tries < 100 && !(await fetch(`${ADDRESS}/-/versions.json`).then(({ ok }) => ok, () => false)); tries++) await new Promise((resolve) => setTimeout(resolve, 100));
  return {
    name: "Datasette",
    version: execFileSync(program, ["--version"], { encoding: "utf8" }).trim().split(" ").at(-1),
    home: `${ADDRESS}/`,
    ready: (page) => page.waitForSelector(table("customer")),
    signIn: (page) => page.goto(link),
    sql: (statement) => execFileSync("sqlite3", ["-cmd", ".timeout 5000", join(folder, "shop.db"), statement], { encoding: "utf8" }).trim(),
    stop() {
      child.kill();
      child.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    },
  };
}

/** Opens the database, and runs a query. */
async function query(hand, statement) {
  await hand.click("a[href='/shop']");
  await hand.click(".cm-content");
  // There is a comment or a statement already.
  await hand.press("Control+a");
  await hand.paste(statement);
  await hand.click("input[value='Run SQL']");
}

/** Opens a table with a filter. */
async function filter(hand, name, column, operator, value) {
  await hand.click(table(name));
  await hand.choose("select[name=_filter_column]", column);
  if (operator) await hand.choose("select[name=_filter_op]", operator);
  await hand.type("input[name=_filter_value]", value);
  await hand.press("Enter");
}

const action = async (hand, name) => {
  await hand.click(".page-action-menu summary, details.actions-menu-links summary");
  await hand.page.waitForLoadState();
  await hand.click(`details[open] ${name}`);
};

export const tasks = {
  async csv(hand, product) {
    await hand.click("details.nav-menu summary, .nav-menu summary");
    await hand.click("a[href='/-/upload-csvs']");
    await hand.page.setInputFiles("#csvUpload", { name: "supplier.csv", mimeType: "text/csv", buffer: Buffer.from(SUPPLIERS) });
    // Dropping the file.
    hand.clicks += 1;
    if ((await hand.page.inputValue("#id_table_name")) === "") await hand.type("#id_table_name", "supplier");
    await hand.click("input[value='Upload file']");
    for (let tries = 0; tries < 80; tries++) {
      if (product.sql("SELECT count(*) FROM sqlite_schema WHERE name = 'supplier'") === "1" && product.sql("SELECT count(*) FROM supplier") === "40") break;
      await hand.page.waitForTimeout(100);
    }
    return () => assert.equal(product.sql("SELECT count(*) FROM supplier"), "40");
  },
  async idle(hand) {
    await query(hand, "SELECT * FROM customer WHERE id NOT IN (SELECT customer FROM orders)");
    await hand.see("h3:has-text('10 rows')");
  },
  async change(hand, product) {
    await hand.click(table("customer"));
    await hand.click("button[aria-label^='Edit row 3']");
    await hand.type(`${dialog} input[name=city], ${dialog} textarea[name=city]`, "Zug");
    await hand.click(`${dialog} button:text-is("Save")`);
    await hand.see(dialog, { state: "detached" });
    return () => assert.equal(product.sql("SELECT city FROM customer WHERE id = 3"), "Zug");
  },
  undo: "a saved row has no undo",
  restore: "it makes no backups",
  grant: "who may see a table is in a file that the server reads when it starts; --root is the one account",
  async chart(hand) {
    await query(hand, BY_MONTH);
    await hand.click("button:has-text('Show Plot')");
    // It takes sales across, and months up, at first.
    await hand.choose(hand.page.locator("select").nth(0), { label: "Bar (y)" });
    await hand.choose(hand.page.locator("select").nth(1), "month");
    await hand.choose(hand.page.locator("select").nth(2), "sales");
    await hand.see("svg rect");
  },
  async index(hand, product) {
    await query(hand, `EXPLAIN QUERY PLAN ${SLOW}`);
    await hand.see("td:has-text('SCAN')");
    await hand.click("nav a[href='/shop'], a[href='/shop']");
    await hand.click(table("orders"));
    await action(hand, "a:has-text('Edit table schema')");
    await hand.choose("select[name=add_index_column]", "customer");
    await hand.click("input[name=add_index]");
    await hand.page.waitForLoadState();
    return () => assert.match(product.sql("SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'orders'"), /customer/);
  },
  async find(hand) {
    await filter(hand, "customer", "email", "contains", "customer321@");
    await hand.see("td:has-text('Customer 321')");
  },
  async add(hand, product) {
    await hand.click(table("product"));
    await hand.click("[data-table-action=insert-row]");
    await hand.type(`${dialog} [name=name]`, "Tea");
    await hand.press("Tab");
    await hand.type(`${dialog} [name=price]`, "4.5");
    await hand.click(`${dialog} button:text-is("Insert row")`);
    await hand.see(dialog, { state: "detached" });
    return () => assert.equal(product.sql("SELECT price FROM product WHERE name = 'Tea'"), "4.5");
  },
  async follow(hand) {
    await hand.click(table("orders"));
    await hand.click("a[href='/shop/customer/186']");
    await hand.see("h1:has-text('186')");
  },
  async count(hand) {
    await hand.click(table("orders"));
    await hand.click("a[href*='_facet=status']");
    await hand.see(".facet-results li:has-text('1,250'), .facet-results li:has-text('1250')");
  },
  async export(hand) {
    await filter(hand, "customer", "country", undefined, "CH");
    await hand.see("h3:has-text('143')");
    const file = await (await hand.click("input[name=_dl]"), hand.download("input[value='Export CSV']"));
    return () => assert.equal(readFileSync(file, "utf8").trim().split("\n").length, 1 + 143);
  },
  async import(hand, product) {
    await hand.click(table("product"));
    await hand.click("[data-table-action=insert-row]");
    await hand.click(`${dialog} >> text=Insert multiple rows`);
    await hand.drop(`${dialog} textarea`, { name: "more.csv", type: "text/csv", text: MORE_PRODUCTS });
    await hand.page.waitForFunction(() => document.querySelector("dialog[open] textarea").value.includes("Imported"));
    await hand.click(`${dialog} button:text-is("Preview rows")`);
    await hand.click(`${dialog} button:text-is("Insert these rows")`);
    await hand.click(`${dialog} button:text-is("Close and view table")`);
    await hand.see("td:has-text('Imported 10')");
    return () => assert.equal(product.sql("SELECT count(*) FROM product WHERE name LIKE 'Imported%'"), "10");
  },
  async bulk(hand, product) {
    await hand.click("a[href='/shop']");
    await action(hand, "a[href='/shop/-/execute-write']");
    await hand.click(".cm-content");
    await hand.paste("UPDATE orders SET status = 'sent' WHERE status = 'lost'");
    await hand.click("section.content >> :is(input[value='Execute'], button:text-is('Execute')):enabled");
    await hand.page.waitForLoadState();
    await hand.see("text=/1,?250|affected|success/i");
    return () => assert.equal(product.sql("SELECT count(*) FROM orders WHERE status = 'lost'"), "0");
  },
  async column(hand, product) {
    await hand.click(table("product"));
    await action(hand, "[data-table-action=alter-table]");
    await hand.click(`${dialog} button:has-text("Add column")`);
    await hand.paste("origin");
    await hand.click(`${dialog} button:has-text("Review changes")`);
    await hand.click(`${dialog} button:has-text("Apply changes")`);
    await hand.see("th:has-text('origin')");
    return () => assert.match(product.sql("SELECT sql FROM sqlite_schema WHERE name = 'product'"), /origin/);
  },
  async sort(hand) {
    await hand.click(table("orders"));
    await hand.click("th a[href*='_sort=total']");
    await hand.click("th a[href*='_sort_desc=total']");
    await hand.see("tbody tr:nth-child(1) td:has-text('47.5')");
  },
  history: "it keeps no changes",
  live: "the page shows rows as they were when it was opened",
  backup: "it makes no backups, and offers a database as a file only if it was opened as immutable",
};
