// The tasks in Bobak's studio.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import assert from "node:assert/strict";
import { MORE_PRODUCTS, shop, SUPPLIERS } from "./shop.js";
import { BY_MONTH, COLLEAGUE, SLOW } from "./tasks.js";

const cell = (row, column) => `bobak-grid [role=gridcell][data-row="${row}"][data-column="${column}"]`;
const status = (text) => `.title .status:has-text("${text}")`;
const table = (name) => `.tables a[title="${name}"]`;
const page = (name) => `.pages a:has-text("${name}")`;

export async function start(program) {
  const folder = mkdtempSync(join(tmpdir(), "peer-bobak-"));
  execFileSync("sqlite3", [join(folder, "shop.db")], { input: shop() });
  const child = spawn(program, ["studio", "shop.db", "--no-browser", "--http", "127.0.0.1:8591", "--track", "orders", "--quiet"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const address = (await lines.next()).value.replace("listening on ", "");
  const link = (await lines.next()).value;
  return {
    name: "Bobak",
    home: `${address}/studio/`,
    version: execFileSync(program, ["--version"], { encoding: "utf8" }).trim().replace("bobak ", ""),
    ready: (page) => page.waitForSelector("bobak-grid [role=gridcell]"),
    async signIn(page) {
      await page.goto(link);
      await page.waitForSelector("bobak-grid [role=gridcell]");
    },
    sql: (statement) => execFileSync("sqlite3", ["-cmd", ".timeout 5000", join(folder, "shop.db"), statement], { encoding: "utf8" }).trim(),
    folder,
    stop() {
      child.kill();
      child.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    },
  };
}

/** Opens a table with the keys. */
async function openByName(hand, name) {
  await hand.press("Control+k");
  await hand.type("input[placeholder='Find a table']", name);
  await hand.press("Enter");
  await hand.see(status("rows"));
}

/** Runs something on the page's server, as another client would. */
const elsewhere = (page, method, path, body) => page.evaluate(async ([method, path, body]) => (await fetch(`../databases/shop/${path}`, { method, headers: { "content-type": "application/json" }, body })).status, [method, path, body && JSON.stringify(body)]);

export const tasks = {
  async csv(hand, product) {
    await hand.drop("nav.side", { name: "supplier.csv", type: "text/csv", text: SUPPLIERS });
    await hand.click("dialog button.primary");
    await hand.see(status("40 rows"));
    return () => assert.equal(product.sql("SELECT count(*), sum(rating > 4) FROM supplier"), "40|0");
  },
  async idle(hand) {
    await hand.type("input.filter", "not orders.id > 0");
    await hand.press("Enter");
    await hand.see(status("10 rows match"));
  },
  async change(hand, product) {
    await hand.click(cell(2, 3));
    await hand.write("Zug");
    await hand.press("Enter");
    await hand.see(`${cell(2, 3)}:text-is("Zug")`);
    return () => assert.equal(product.sql("SELECT city FROM customer WHERE id = 3"), "Zug");
  },
  async undo(hand, product) {
    await hand.click(cell(3, 3));
    await hand.write("Wrong");
    await hand.press("Enter");
    await hand.see(`${cell(3, 3)}:text-is("Wrong")`);
    await hand.press("Control+z");
    await hand.see(`${cell(3, 3)}:text-is("Turin")`);
    return () => assert.equal(product.sql("SELECT city FROM customer WHERE id = 4"), "Turin");
  },
  restore: {
    async before(page) {
      assert.equal(await elsewhere(page, "POST", "backups"), 201);
    },
    async run(hand, product) {
      await hand.click(page("Administration"));
      await hand.click("td button:text-is('Restore')");
      await hand.click("dialog button.primary");
      await hand.see("dialog pre:has-text('bobak studio')");
      const file = (await hand.page.textContent("dialog pre")).replace("bobak studio ", "");
      return () => assert.equal(execFileSync("sqlite3", [join(product.folder, file), "SELECT count(*) FROM orders"], { encoding: "utf8" }).trim(), "5000");
    },
  },
  async grant(hand, product) {
    await hand.click(page("Administration"));
    await hand.click("button:has-text('New role')");
    await hand.write("reader");
    await hand.click("dialog select[multiple] option:text-is('customer')");
    await hand.click("dialog select[multiple] option:text-is('orders')", { modifiers: ["Control"] });
    await hand.click("dialog button:has-text('Add the grant')");
    await hand.click("dialog button.primary");
    await hand.see("th:text-is('reader')");
    await hand.click("button:has-text('New user')");
    await hand.write(COLLEAGUE.name);
    await hand.press("Tab");
    await hand.write(COLLEAGUE.password);
    await hand.click("dialog .boxes label:has-text('reader') input");
    await hand.click("dialog button.primary");
    await hand.see(`th:text-is('${COLLEAGUE.name}')`);
    return () => assert.match(readFileSync(join(product.folder, "shop.access"), "utf8"), /read on customer, orders/);
  },
  async chart(hand) {
    await hand.click(page("SQL"));
    await hand.see("#sql:focus");
    await hand.paste(BY_MONTH);
    await hand.press("Control+Enter");
    await hand.click("button:has-text('Chart')");
    await hand.see("svg.chart rect.mark:nth-of-type(12)");
  },
  async index(hand, product) {
    await hand.click(page("SQL"));
    await hand.see("#sql:focus");
    await hand.paste(SLOW);
    await hand.click("button:has-text('Explain')");
    await hand.click("button:has-text('Add this index')");
    await hand.see("dialog .steps li");
    await hand.click("dialog button.primary:has-text('Run')");
    await hand.see(".plan li:has-text('USING INDEX')");
    return () => assert.match(product.sql("SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'orders'"), /customer/);
  },
  async find(hand) {
    await hand.press("/");
    await hand.write("customer321@");
    await hand.see(`${cell(0, 1)}:text-is("Customer 321")`);
  },
  async add(hand, product) {
    await hand.click(table("product"));
    await hand.see(status("rows"));
    await hand.click("button:has-text('New row')");
    await hand.see("dialog :focus[id^='field-name-']");
    await hand.write("Tea");
    await hand.press("Tab");
    await hand.type(hand.page.getByLabel("price", { exact: true }), "4.5");
    await hand.press("Enter");
    await hand.see("dialog", { state: "detached" });
    return () => assert.equal(product.sql("SELECT price FROM product WHERE name = 'Tea'"), "4.5");
  },
  async follow(hand) {
    await openByName(hand, "orders");
    await hand.click(cell(4, 1), { modifiers: ["Control"] });
    await hand.see(`${cell(0, 1)}:text-is("Customer 186")`);
  },
  async count(hand) {
    await openByName(hand, "orders");
    await hand.click("button:has-text('Facets')");
    await hand.see("aside.facets section:has(h2:text-is('status')) .count");
  },
  async export(hand) {
    await hand.type("input.filter", "country = 'CH'");
    await hand.press("Enter");
    await hand.see(status("match"));
    await hand.click("button:has-text('More')");
    const file = await hand.download(".menu >> text=Export as CSV");
    return () => assert.equal(readFileSync(file, "utf8").trim().split("\n").length, 1 + 143);
  },
  async import(hand, product) {
    await hand.click(table("product"));
    await hand.see(status("rows"));
    await hand.drop("bobak-grid", { name: "more.csv", type: "text/csv", text: MORE_PRODUCTS });
    await hand.click("dialog footer button.primary");
    await hand.see("dialog", { state: "detached" });
    return () => assert.equal(product.sql("SELECT count(*) FROM product WHERE name LIKE 'Imported%'"), "10");
  },
  async bulk(hand, product) {
    await hand.click(page("SQL"));
    await hand.see("#sql:focus");
    await hand.paste("UPDATE orders SET status = 'sent' WHERE status = 'lost'");
    await hand.press("Control+Enter");
    await hand.see(".output:has-text('Changed 1,250 rows')");
    return () => assert.equal(product.sql("SELECT count(*) FROM orders WHERE status = 'lost'"), "0");
  },
  async column(hand, product) {
    await hand.click(table("product"));
    await hand.click("button:has-text('More')");
    await hand.click(".menu >> text=Add a column…");
    await hand.see("dialog input:focus");
    await hand.write("origin");
    await hand.press("Enter");
    await hand.see("dialog .steps li");
    await hand.click("dialog button.primary:has-text('Run')");
    await hand.see("bobak-grid [role=columnheader]:has-text('origin')");
    return () => assert.match(product.sql("SELECT sql FROM sqlite_schema WHERE name = 'product'"), /origin/);
  },
  async sort(hand) {
    await openByName(hand, "orders");
    await hand.click("bobak-grid [role=columnheader] >> text=total", { modifiers: ["Shift"] });
    await hand.see(`${cell(0, 5)}:text-is("47.5")`);
  },
  history: {
    async before(page) {
      assert.equal(await elsewhere(page, "PATCH", "tables/orders/rows/3", { total: 99.5 }), 200);
    },
    async run(hand) {
      await hand.click(table("orders"));
      await hand.see(status("rows"));
      await hand.click(cell(2, 5));
      await hand.press("Shift+Enter");
      await hand.click("summary:has-text('History')");
      await hand.see(".history ins:text-is('99.5')");
    },
  },
  async live(hand) {
    await hand.click(page("Live changes"));
    await hand.see(".status:has-text('connected')");
    assert.equal(await elsewhere(hand.page, "PATCH", "tables/orders/rows/9", { total: 1.5 }), 200);
    await hand.see(".events li");
  },
  async backup(hand) {
    await hand.click(page("Administration"));
    await hand.click("button:has-text('Back up now')");
    await hand.see(".message:has-text('verified')");
    const file = await hand.download("a[download]");
    return () => assert.match(readFileSync(file, "latin1").slice(0, 15), /^SQLite format 3/);
  },
};
