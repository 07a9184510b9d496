// The page of the administrator.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { newPage, studio } from "./server.js";

const own = studio({ orders: 500, plain: true });
const section = (page, title) => page.locator(`section:has(h2:has-text("${title}"))`);

own.on("a colleague gets read access to two tables, and the administrator sees what they see", "#/admin/shop", async (page) => {
  await page.click("button:has-text('New role')");
  await page.fill("dialog label:text-is('Name') ~ input", "reader");
  await page.selectOption("dialog select[multiple]", ["customer", "orders"]);
  await page.fill("dialog label:has-text('Only rows where') ~ input", "id <= 5");
  await page.click("dialog button:has-text('Add the grant')");
  assert.equal(await page.inputValue("dialog textarea"), "read on customer, orders where id <= 5");
  await page.click("dialog button.primary");
  await page.waitForSelector("th:text-is('reader')");
  await page.click("button:has-text('New user')");
  await page.fill("dialog label:text-is('Name') ~ input", "ada");
  await page.fill("dialog input[type=password]", "short");
  await page.check("dialog .boxes label:has-text('reader') input");
  await page.fill("dialog input[type=password]", "correct horse");
  await page.click("dialog button.primary");
  await page.waitForSelector("th:text-is('ada')");
  assert.match(readFileSync(join(own.server.folder, "shop.access"), "utf8"), /^user ada \$argon2/m);
  await page.click("button[aria-label='More for user ada']");
  await page.click(".menu >> text=Try as this account");
  await page.waitForSelector(".acting:has-text('user ada')");
  await page.waitForFunction(() => document.querySelector(".title .status")?.textContent.includes("5 rows"));
  assert.deepEqual(await page.$$eval(".tables a", (all) => all.map((one) => one.textContent)), ["customer", "orders"]);
  assert.equal(await page.isVisible(".pages >> text=Administration"), false);
  await page.click(".acting button");
  await page.waitForSelector(".pages >> text=Administration");
  // And they can sign in.
  const other = await newPage(own.browser, own.server);
  await other.goto(`${own.server.address}/studio/`);
  await other.fill("#user", "ada");
  await other.fill("#password", "correct horse");
  await other.click("button:has-text('Sign in with the password')");
  await other.waitForFunction(() => document.querySelector(".title .status")?.textContent.includes("5 rows"));
  await other.context().close();
});

own.on("an account without roles sees nothing, also for the administrator who tries it", "#/admin/shop", async (page) => {
  await page.click("button:has-text('New user')");
  await page.fill("dialog label:text-is('Name') ~ input", "zoe");
  await page.fill("dialog input[type=password]", "correct horse");
  await page.click("dialog button.primary");
  await page.click("button[aria-label='More for user zoe']");
  await page.click(".menu >> text=Try as this account");
  await page.waitForSelector(".acting:has-text('user zoe')");
  await page.waitForSelector(".empty:has-text('user zoe has no role that grants anything')");
  assert.equal(await page.textContent(".who"), "zoe");
  assert.equal(await page.locator(".tables a").count(), 0);
  await page.click(".acting button");
  await page.waitForSelector(".pages >> text=Administration");
  // And after signing in.
  const other = await newPage(own.browser, own.server);
  await other.goto(`${own.server.address}/studio/`);
  await other.fill("#user", "zoe");
  await other.fill("#password", "correct horse");
  await other.click("button:has-text('Sign in with the password')");
  await other.waitForSelector(".empty:has-text('you may not see any database')");
  await other.context().close();
});

own.on("backups that Bobak does not make are not offered", "#/admin/shop", async (page) => {
  const backups = section(page, "Backups");
  const now = backups.locator("button:has-text('Back up now')");
  await now.waitFor();
  await page.route("**/databases/shop/backups", (route) => route.fulfill({ json: { possible: false, folder: null, archive: false, backups: [] } }));
  await page.reload();
  await backups.locator("p:has-text('its own tools do')").waitFor();
  assert.equal(await now.isVisible(), false);
  assert.equal(await backups.locator(":has-text('--backup')").count(), 0);
});

own.on("a token is shown once, and removed", "#/admin/shop", async (page) => {
  await page.click("button:has-text('New token')");
  await page.fill("dialog label:text-is('Name') ~ input", "till");
  await page.check("dialog .boxes label:has-text('admin') input");
  await page.click("dialog button.primary");
  await page.waitForSelector("dialog .token");
  const token = await page.textContent("dialog .token");
  await page.keyboard.press("Escape");
  const status = () => page.evaluate(async (token) => (await fetch("../tables", { credentials: "omit", headers: { authorization: `Bearer ${token}` } })).status, token);
  assert.equal(await status(), 200);
  await page.click("button[aria-label='More for token till']");
  await page.click(".menu >> text=Remove…");
  await page.click("dialog button.danger");
  await page.waitForSelector("th:text-is('till')", { state: "detached" });
  assert.equal(await status(), 401);
});

own.on("variables of row rules keep their types", "#/admin/shop", async (page) => {
  const file = () => readFileSync(join(own.server.folder, "shop.access"), "utf8");
  await page.click("button:has-text('New token')");
  await page.fill("dialog label:text-is('Name') ~ input", "typed");
  await page.click("dialog summary:has-text('Variables')");
  await page.fill("dialog textarea", "zip = 0123");
  await page.click("dialog button.primary");
  await page.waitForSelector("dialog .problem:has-text(\"such as '0123'\")");
  const written = "n = 9007199254740993\nquoted = 'it''s'\nshop = '7'\nz = ' sp '\nzip = '0123'";
  await page.fill("dialog textarea", written);
  await page.click("dialog button.primary");
  await page.waitForSelector("dialog .token");
  await page.keyboard.press("Escape");
  const before = file();
  assert.match(before, /^token typed \S+ with n = 9007199254740993, quoted = 'it''s', shop = '7', z = ' sp ', zip = '0123'$/m);
  await page.click("button[aria-label='More for token typed']");
  await page.click(".menu >> text=Change…");
  assert.equal(await page.inputValue("dialog textarea"), written);
  const [request] = await Promise.all([page.waitForRequest((request) => request.method() === "PUT"), page.click("dialog button.primary")]);
  await request.response();
  assert.equal(file(), before);
});

own.on("a parameter of SQL is what was typed, a text, or NULL", "#/sql/shop", async (page) => {
  await page.fill("#sql", "SELECT typeof(:n) || ' ' || quote(:n) AS found");
  const found = async (text, type) => {
    await page.selectOption(".parameters select", type);
    if (type !== "null") await page.fill(".parameters input", text);
    const [response] = await Promise.all([page.waitForResponse((response) => response.url().includes("/sql?")), page.click("button:has-text('Run')")]);
    const { rows, detail } = await response.json();
    return rows?.[0][0] ?? detail;
  };
  const expected = [
    ["9007199254740993", "any", "integer 9007199254740993"],
    ["007", "any", "text '007'"],
    ["1e5", "any", "real 100000.0"],
    ["0.1", "any", "real 0.1"],
    ["'10'", "any", "text '''10'''"],
    ["", "any", "null NULL"],
    ["10", "text", "text '10'"],
    ["", "text", "text ''"],
    ["", "null", "null NULL"],
  ];
  for (const [text, type, value] of expected) assert.equal(await found(text, type), value, `${type}: ${text}`);
  assert.match(await found("12345678901234567890", "any"), /12345678901234567890/);
});

own.on("a backup is made, verified, downloaded and restored", "#/admin/shop", async (page) => {
  const backups = section(page, "Backups");
  await backups.locator("button:has-text('Back up now')").click();
  await page.waitForSelector(".message:has-text('verified')");
  await backups.locator("button:has-text('Verify')").click();
  await page.waitForSelector(".message:has-text('is whole')");
  const [download] = await Promise.all([page.waitForEvent("download"), backups.locator("a[download]").click()]);
  assert.match(readFileSync(await download.path(), "latin1").slice(0, 15), /^SQLite format 3/);
  await backups.locator("button:has-text('Restore')").click();
  await page.click("dialog button.primary");
  await page.waitForSelector("dialog pre:has-text('bobak studio')");
  const file = (await page.textContent("dialog pre")).replace("bobak studio ", "");
  assert.ok(existsSync(join(own.server.folder, file)), file);
});

own.on("the state of the server is shown", "#/admin/shop", async (page) => {
  await page.waitForSelector("dt:text-is('Connections') ~ dd:has-text('of 16,384')");
  await section(page, "Sizes").locator("tr:has-text('orders') td:has-text('KiB')").waitFor();
  await page.evaluate(() => fetch("../tables", { credentials: "omit", headers: { authorization: "Bearer wrong" } }).then(() => undefined));
  await section(page, "Audit log").locator("button:has-text('Read again')").click();
  await page.waitForSelector(".log li:has-text('status 401')");
});

own.on("the slowest and most frequent statements are listed, opened and explained", "#/admin/shop", async (page) => {
  await page.evaluate(async () => {
    for (let id = 1; id <= 30; id++) await fetch(`../databases/shop/tables/orders/rows?filter=status%20%3D%20'lost'%20and%20id%20%3C%20${id}`);
    await fetch("../databases/shop/sql", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ sql: "SELECT nosuch FROM orders" }) });
  });
  const list = section(page, "Slowest and most frequent statements");
  await list.locator("button:has-text('Read again')").click();
  const row = list.locator("tbody tr:has(code:text('FROM orders WHERE (status = ? AND id < ?) ORDER BY id'))");
  await row.waitFor();
  assert.match(await row.textContent(), /30.*operator: GET \/tables\/\{table\}\/rows/);
  const numbers = (column) => list.locator(`tbody td:nth-child(${column + 1})`).allTextContents();
  for (const [order, column] of [["count", 2], ["rows", 7], ["errors", 8]]) {
    await list.locator("select").selectOption(order);
    await page.waitForSelector(`table.statements th:nth-child(${column + 1})[aria-sort=descending]`);
    const found = (await numbers(column)).map((one) => Number(one.split(" ")[0].replaceAll(",", "")));
    assert.deepEqual(found, [...found].sort((a, b) => b - a), order);
  }
  // Not always the first one: requests of a page that is left are interrupted.
  assert.equal(await list.locator("tbody tr:has-text('(last: Schema)')").count(), 1, "the last error is shown");
  await list.locator("th button:text('Origin')").click();
  await page.waitForSelector("table.statements th:nth-child(10)[aria-sort=ascending]");
  const origins = (await numbers(9)).filter((one) => one !== "unknown");
  assert.deepEqual(origins, [...origins].sort((a, b) => a.localeCompare(b)));
  await row.locator("a").click();
  await page.waitForSelector(".plan li");
  assert.match(await page.inputValue("#sql"), /WHERE \(status = :value1 AND id < :value2\) ORDER BY id LIMIT :value3$/);
  assert.equal(await page.locator(".parameters input").count(), 3);
});

own.on("a statement that comes with the address runs only if it reads", `#/sql/shop?q=${encodeURIComponent("DELETE FROM line")}`, async (page) => {
  await page.waitForSelector(".output:has-text('press Run')");
  const lines = () => page.evaluate(async () => (await (await fetch("../databases/shop/tables/line/aggregate?values=count&numbers=text")).json()).rows[0].count);
  assert.equal(Number(await lines()), 2_000);
  await page.goto(`${own.server.address}/studio/#/sql/shop?q=${encodeURIComponent("SELECT 41 + 1 AS answer")}`);
  await page.waitForSelector(".output [role=gridcell]:text-is('42')");
});
