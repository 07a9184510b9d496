// A server with the sample shop, and a signed-in browser.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

export const PROGRAM = process.env.BOBAK_TEST_PROGRAM ?? new URL("../../../../../target/debug/bobak", import.meta.url).pathname;
const BROWSERS = [process.env.BOBAK_TEST_BROWSER, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Markup in a name and in values: a page that runs it sets `window.attacked`. */
export const MARKUP = `<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>`;

const TABLES = [
  `CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, city TEXT, country TEXT, born DATE_DAYS, active BOOLEAN NOT NULL DEFAULT TRUE, credit CURRENCY_E4, notes JSON_TEXT, photo BLOB)`,
  `CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price CURRENCY_E4 NOT NULL, weight REAL)`,
  `CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer(id), status TEXT NOT NULL CHECK (status IN ('new','paid','sent','lost')), created TIMESTAMP_MICROS, total CURRENCY_E4)`,
  `CREATE TABLE line (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders(id), product_id INTEGER NOT NULL REFERENCES product(id), amount INTEGER NOT NULL)`,
];

/** More orders than these are copies of them: a million would take the program, built without optimization, ten seconds. */
const SAMPLED = 20_000;
const copies = (number) =>
  `INSERT INTO orders (customer_id, status, created, total) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${number}) SELECT o.customer_id, o.status, o.created, o.total FROM orders o CROSS JOIN n`;

const columns = (number) => Array.from({ length: number }, (_, index) => `c${index + 1} INTEGER DEFAULT ${index + 1}`).join(", ");

const MORE = [
  `CREATE VIEW sales AS SELECT o.id AS order_id, c.name AS customer, o.total, o.status FROM orders o JOIN customer c ON c.id = o.customer_id`,
  `CREATE VIEW broken AS SELECT nosuch(name) AS wrong FROM customer`,
  `CREATE TABLE keyless (a TEXT, b INTEGER)`,
  `CREATE TABLE exact (id INTEGER PRIMARY KEY, j JSON_TEXT, a, s TEXT)`,
  `INSERT INTO exact VALUES (1, '{"id":12345678901234567890,"name":"x","p":1.10,"list":[1e400]}', 1152921504606846976, 'a' || char(13) || char(10) || 'b' || char(10) || 'c' || char(13) || 'd'), (2, NULL, 2.5, NULL), (3, NULL, '7', NULL)`,
  `INSERT INTO keyless VALUES ('x', 1)`,
  `CREATE TABLE "${MARKUP.replaceAll('"', '""')}" (id INTEGER PRIMARY KEY, "a ${MARKUP.replaceAll('"', '""')}" TEXT)`,
  `INSERT INTO "${MARKUP.replaceAll('"', '""')}" VALUES (1, '${MARKUP.replaceAll("'", "''")}')`,
  `CREATE TABLE wide (id INTEGER PRIMARY KEY, ${columns(255)})`,
  // SQL alone reaches it: a table of Bobak has at most 256 columns.
  `CREATE TABLE wider (id INTEGER PRIMARY KEY, ${columns(299)})`,
  `INSERT INTO wider (id) VALUES (1)`,
  `INSERT INTO wide (id) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i FROM n`,
];

/** Starts a server with so many orders, a multiple of `SAMPLED` if they are more; `plain` leaves odd tables out. */
export async function startServer({ orders = 20_000, plain = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "bobak-studio-"));
  const run = (...words) => execFileSync(PROGRAM, [...words], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  writeFileSync(join(folder, "shop.db"), "");
  for (const sql of TABLES) run("query", "shop.db", sql);
  const sampled = Math.min(orders, SAMPLED);
  run("sample", "shop.db", "--rows", "customer=500", "--rows", "product=60", "--rows", `orders=${sampled}`, "--rows", "line=2000", "--quiet");
  if (orders > sampled) run("query", "shop.db", copies(orders / sampled - 1));
  for (const sql of plain ? MORE.slice(0, 1) : MORE) run("query", "shop.db", sql);
  const server = { folder };
  server.start = async (address = "127.0.0.1:0") => {
    const words = ["studio", "shop.db", "--no-browser", "--http", address, "--track", "orders", "--track", "customer", "--quiet"];
    const child = spawn(PROGRAM, words, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    server.child = child;
    server.lines = lines;
    server.address = (await lines.next()).value.replace("listening on ", "");
    server.link = (await lines.next()).value;
  };
  server.kill = () => new Promise((resolve) => (server.child.once("exit", resolve), server.child.kill("SIGKILL")));
  server.stop = async () => {
    await server.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  await server.start();
  return server;
}

export const launch = () => {
  const executablePath = BROWSERS.find((path) => path && existsSync(path));
  if (!executablePath) throw new Error("there is no Chromium: apt-get install chromium, or name one in BOBAK_TEST_BROWSER");
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
};

/** A page whose errors fail the test; requests to other servers, too. */
export async function newPage(browser, server, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  // Other tests run meanwhile.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error.stack ?? error)));
  page.on("console", (message) => /Content Security Policy|TrustedHTML/.test(message.text()) && page.problems.push(message.text()));
  page.on("request", (request) => !/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(server.address) && page.problems.push(`a request to ${request.url()}`));
  return page;
}

/** Signs a context in by the server's link. */
export async function signIn(page, server) {
  await page.goto(server.link);
  await page.waitForSelector("bobak-grid [role=gridcell]");
  server.link = (await server.lines.next()).value;
}

/** A server for the tests of a file. Its `on(name, hash, action)` runs a test on a signed-in page. */
export function studio(settings) {
  const own = {};
  before(async () => {
    own.server = await startServer(settings);
    own.browser = await launch();
    const page = await newPage(own.browser, own.server);
    await signIn(page, own.server);
    own.state = await page.context().storageState();
    await page.context().close();
  });
  after(async () => {
    await own.browser?.close();
    await own.server?.stop();
  });
  own.on = (name, hash, action, options = {}) =>
    test(name, async () => {
      const page = await newPage(own.browser, own.server, { storageState: own.state, ...options });
      try {
        await page.goto(`${own.server.address}/studio/${hash}`);
        await page.waitForSelector(".page, .empty");
        await action(page);
        assert.equal(await page.evaluate(() => window.attacked), undefined);
        assert.deepEqual(page.problems, []);
      } finally {
        await page.context().close();
      }
    });
  return own;
}
