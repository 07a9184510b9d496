// The tasks in PocketBase's page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { key, startPocketBase } from "./pocketbase-server.js";
import { BY_MONTH, COLLEAGUE } from "./tasks.js";

const collection = (name) => `aside nav button:has-text("${name}")`;
const modal = ".modal[data-modal-state=open]";
const search = "[data-pb=main] .searchbar [contenteditable], .searchbar [role=textbox]";
const row = (id) => `tbody tr:has-text("${key(id)}")`;
const settings = (name) => `aside nav a:has-text("${name}")`;

export async function start(program) {
  const server = await startPocketBase(program);
  return {
    name: "PocketBase",
    version: execFileSync(program, ["--version"], { encoding: "utf8" }).trim().split(" ").at(-1),
    home: `${server.address}/_/`,
    ready: (page) => page.waitForSelector(collection("customer")),
    ...server,
    signIn: async (page) => {
      await server.signIn(page);
      await page.waitForSelector(collection("customer"));
    },
  };
}

/** Opens the SQL console, and runs a statement. */
async function sql(hand, statement) {
  await hand.click("nav a:has-text('Settings')");
  await hand.click(settings("SQL console"));
  await hand.click("main [role=textbox]");
  await hand.paste(statement);
  await hand.click("button:has-text('Execute')");
}

/** Opens a collection with a filter. */
async function filter(hand, name, text) {
  await hand.click(collection(name));
  await hand.click(search);
  await hand.paste(text);
  await hand.press("Enter");
}

export const tasks = {
  csv: "it imports no CSV: its import takes definitions of collections as JSON",
  async idle(hand) {
    await filter(hand, "customer", "orders_via_customer.id = null");
    await hand.see("text=Total: 10");
  },
  async change(hand, product) {
    await hand.click(collection("customer"));
    await hand.click(row(498));
    await hand.type(`${modal} .field:has-text("city") [role=textbox], ${modal} .field:has-text("city") textarea, ${modal} .field:has-text("city") input`, "Zug");
    await hand.click(`${modal} button:has-text("Save changes")`);
    await hand.see(`${row(498)} >> text=Zug`);
    return () => assert.equal(product.sql(`SELECT city FROM customer WHERE id = '${key(498)}'`), "Zug");
  },
  undo: "a saved record has no undo",
  restore: {
    async before(page, product) {
      await product.api("POST", "backups", { name: "yesterday.zip" });
    },
    async run(hand, product) {
      await hand.click("nav a:has-text('Settings')");
      await hand.click(settings("Backups"));
      await hand.click("button[aria-label='Restore'], button:has-text('Restore')");
      await hand.click(`${modal} input`);
      await hand.write("yesterday.zip");
      await hand.click(`${modal} button:has-text("Restore")`);
      await hand.see(modal, { state: "detached" });
      await hand.page.waitForTimeout(100);
      for (let tries = 0; tries < 50; tries++) {
        if (await fetch(`${product.address}/api/health`).then(({ ok }) => ok, () => false)) break;
        await hand.page.waitForTimeout(100);
      }
    },
  },
  async grant(hand, product) {
    // An account of the collection users may read what the rules of a collection say.
    await hand.click(collection("users"));
    await hand.click("button:has-text('New record')");
    await hand.type(`${modal} input[type=email]`, COLLEAGUE.name);
    await hand.type(`${modal} input[type=password] >> nth=0`, COLLEAGUE.password);
    await hand.type(`${modal} input[type=password] >> nth=1`, COLLEAGUE.password);
    await hand.click(`${modal} footer button:has-text("Create")`);
    await hand.see(`tbody >> text=${COLLEAGUE.name}`);
    const id = product.sql("SELECT id FROM users");
    for (const name of ["customer", "orders"]) {
      await hand.click(collection(name));
      await hand.click("[aria-label='Collection settings']");
      await hand.click(`${modal} nav button:has-text("API rules")`);
      for (const rule of [0, 1]) {
        await hand.click(`${modal} button:has-text("Unlock and set custom rule") >> nth=0`);
        await hand.click(`${modal} [contenteditable] >> nth=${rule}`);
        await hand.write(`@request.auth.id = "${id}"`);
      }
      await hand.click(`${modal} button:has-text("Save changes")`);
      await hand.see(modal, { state: "detached" });
    }
    return () => assert.equal(product.sql("SELECT count(*) FROM _collections WHERE listRule LIKE '%auth.id%' AND viewRule LIKE '%auth.id%' AND name IN ('customer', 'orders')"), "2");
  },
  chart: "it has no charts of records",
  async index(hand, product) {
    await sql(hand, `EXPLAIN QUERY PLAN SELECT * FROM orders WHERE customer = '${key(77)}'`);
    await hand.see("td:has-text('SCAN')");
    await hand.click("nav a:has-text('Collections')");
    await hand.click(collection("orders"));
    await hand.click("[aria-label='Collection settings']");
    await hand.click(`${modal} button:has-text("New index")`);
    await hand.click(`${modal} >> nth=-1 >> button:text-is("customer")`);
    await hand.click(`${modal} button:has-text("Set index")`);
    await hand.click(`${modal} button:has-text("Save changes")`);
    await hand.see(modal, { state: "detached" });
    return () => assert.match(product.sql("SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'orders'"), /customer/);
  },
  async find(hand) {
    await filter(hand, "customer", "customer321@");
    await hand.see("text=Total: 1");
  },
  async add(hand, product) {
    await hand.click(collection("product"));
    await hand.see(row(20));
    await hand.click("button:has-text('New record')");
    await hand.type(`${modal} .field:has-text("name") textarea, ${modal} .field:has-text("name") input`, "Tea");
    await hand.type(`${modal} input[type=number]`, "4.5");
    await hand.click(`${modal} footer button:has-text("Create")`);
    await hand.see("tbody >> text=Tea");
    return () => assert.equal(product.sql("SELECT price FROM product WHERE name = 'Tea'"), "4.5");
  },
  follow: "a relation shows the name of its record, and opens nothing but a picker",
  async count(hand) {
    await sql(hand, "SELECT status, count(*) FROM orders GROUP BY status");
    await hand.see("td:text-is('1250')");
  },
  async export(hand) {
    await sql(hand, "SELECT * FROM customer WHERE country = 'CH'");
    await hand.see("td:has-text('Bern')");
    const file = await hand.download("text=Export as CSV");
    return () => assert.equal(readFileSync(file, "utf8").trim().split("\n").length, 1 + 143);
  },
  import: "it imports no records from files",
  async bulk(hand, product) {
    await sql(hand, "UPDATE orders SET status = 'sent' WHERE status = 'lost'");
    await hand.click(hand.page.locator("button:has-text('Execute')").last());
    await hand.see("button:has-text('Cancel')", { state: "hidden" });
    return () => assert.equal(product.sql("SELECT count(*) FROM orders WHERE status = 'lost'"), "0");
  },
  async column(hand, product) {
    await hand.click(collection("product"));
    await hand.click("[aria-label='Collection settings']");
    await hand.click(`${modal} button:has-text("New field")`);
    await hand.click("button:has-text('Plain text')");
    await hand.page.keyboard.press("Control+a");
    await hand.write("origin");
    await hand.click(`${modal} button:has-text("Save changes")`);
    await hand.see(modal, { state: "detached" });
    return () => assert.match(product.sql("SELECT sql FROM sqlite_schema WHERE name = 'product'"), /origin/);
  },
  async sort(hand) {
    await hand.click(collection("orders"));
    await hand.see(row(4999));
    await hand.click("th:has-text('total')");
    await hand.see("tbody tr:nth-child(1) td:has-text('47.5')");
  },
  history: "its logs have requests, without the values that were changed",
  // A record that was changed elsewhere stood there as before for seconds.
  live: "the page shows records as they were when it was opened",
  async backup(hand) {
    await hand.click("nav a:has-text('Settings')");
    await hand.click(settings("Backups"));
    await hand.click("button:has-text('Initialize new backup')");
    await hand.click(`${modal} button:has-text("Start backup")`);
    const file = await hand.download("button[aria-label='Download']");
    return () => assert.match(readFileSync(file, "latin1").slice(0, 2), /^PK/);
  },
};
