// Changes of the schema in the studio: each is a migration that is shown before it runs.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { studio } from "./server.js";

const own = studio({ orders: 500, plain: true });

const table = (page, name) =>
  page.evaluate(async (name) => {
    const response = await fetch(`../databases/shop/tables/${name}`);
    return response.ok ? response.json() : undefined;
  }, name);
const change = async (page, column, label) => {
  await page.click(`button[aria-label="Change ${column}"]`);
  await page.click(`.menu >> text=${label}`);
};
/** Runs what waits, and waits until it has run. */
const run = async (page) => {
  await page.click("dialog button.primary:has-text('Run')");
  await page.waitForSelector("dialog", { state: "detached" });
};

own.on("a column is added, changed, renamed and dropped", "#/schema/shop/product", async (page) => {
  await page.click("button:has-text('Add a column')");
  await page.fill("dialog label:has-text('Name') ~ input", "stock");
  await page.fill("dialog label:has-text('Value of existing rows') ~ input", "7");
  await page.selectOption("dialog label:has-text('Type') ~ select", "i64");
  await page.fill("dialog label:has-text('Only if') ~ input", "stock >= 0");
  await page.click("dialog button.primary");
  await page.waitForSelector("dialog li:has-text('Add the column stock (i64, may be NULL, only if stock >= 0) to product. Existing rows get 7.')");
  assert.equal((await table(page, "product")).columns.length, 4, "nothing has changed yet");
  assert.match(await page.textContent("dialog pre"), /ADD COLUMN|ALTER TABLE/);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("dialog button:has-text('Save as a file')")]);
  assert.equal(download.suggestedFilename(), "0001_add-stock.migration");
  assert.match(readFileSync(await download.path(), "utf8"), /^bobak migration 1\nfirst\n\nup\nadd column product /);
  await run(page);
  await page.waitForSelector("th:text-is('stock')");
  const rows = await page.evaluate(async () => (await fetch("../databases/shop/tables/product/rows?columns=stock&limit=1")).json());
  assert.deepEqual(rows.rows, [{ stock: 7 }]);
  await change(page, "stock", "Rename…");
  await page.fill("dialog input", "in stock");
  await page.click("dialog button.primary");
  await page.waitForSelector("dialog li:has-text('Rename the column stock of product to in stock.')");
  await run(page);
  await page.waitForSelector("th:text-is('in stock')");
  await change(page, "in stock", "Drop…");
  await page.waitForSelector("dialog .warning");
  await run(page);
  await page.waitForSelector("th:text-is('in stock')", { state: "detached" });
  assert.equal((await table(page, "product")).columns.length, 4);
});

own.on("several changes are one migration, and a wrong one changes nothing", "#/schema/shop/orders", async (page) => {
  await change(page, "status", "Add an index…");
  await page.click("dialog button.primary");
  await page.click("dialog button:has-text('Add another change')");
  await page.waitForSelector(".waiting:has-text('1 change waits')");
  // Texts are no numbers: the database says so, and keeps everything.
  await change(page, "status", "Change…");
  await page.selectOption("dialog label:has-text('Type') ~ select", "i64");
  await page.fill("dialog label:has-text('Only if') ~ input", "");
  await page.click("dialog button.primary");
  await page.waitForSelector("dialog .steps li:nth-child(2)");
  await page.click("dialog button.primary:has-text('Run')");
  await page.waitForSelector("dialog .problem:not(:empty)");
  assert.equal((await table(page, "orders")).columns[2].type, "text");
  await page.click("dialog li:nth-child(2) button");
  await page.waitForFunction(() => document.querySelectorAll("dialog .steps li").length === 1);
  await run(page);
  await page.waitForSelector(".indexes li:has-text('orders_status')");
});

own.on("a table is created by the keyboard, and refers to another", "#/schema/shop", async (page) => {
  await page.focus("button:has-text('New table')");
  await page.keyboard.press("Enter");
  await page.keyboard.type("visit");
  await page.focus("dialog [aria-label='Name of a column']");
  await page.keyboard.type("page");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog li:has-text('Create the table visit')");
  await run(page);
  await page.waitForSelector("h2:has-text('visit')");
  await page.goto(page.url().replace(/#.*/, "#/schema/shop/visit"));
  await page.click("button:has-text('Add a column')");
  await page.fill("dialog label:has-text('Name') ~ input", "who");
  await page.selectOption("dialog label:has-text('Refers to') ~ select", "customer.id");
  await page.selectOption("dialog label:has-text('A delete') ~ select", "cascade");
  await page.click("dialog button.primary");
  await page.waitForSelector("dialog li:has-text('refers to customer.id and is deleted with it')");
  await run(page);
  await page.waitForSelector("td a:has-text('customer.id')");
  await page.click("button[aria-label='More for visit']");
  await page.click(".menu >> text=Drop the table…");
  await page.waitForSelector("dialog li:has-text('Drop the table visit with all of its rows.')");
  await run(page);
  await page.waitForSelector(".migrations li:has-text('drop-visit')");
  assert.equal(await table(page, "visit"), undefined);
});

own.on("a column whose rule lists its values has a list of them", "#/data/shop/orders?row=3", async (page) => {
  await page.waitForSelector(".drawer .field:has(label:text-is('status')) select option", { state: "attached" });
  const options = await page.$$eval(".drawer .field:has(label:text-is('status')) select option", (all) => all.map((one) => one.textContent));
  assert.deepEqual(options, ["new", "paid", "sent", "lost"]);
});

/** Drops a file on an element. */
const drop = async (page, target, name, text) => {
  const data = await page.evaluateHandle(([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name, { type: "text/csv" }));
    return data;
  }, [name, text]);
  for (const event of ["dragover", "drop"]) await page.locator(target).dispatchEvent(event, { dataTransfer: data });
};
const rows = (page, name) => page.evaluate(async (name) => (await (await fetch(`../databases/shop/tables/${name}/rows?numbers=text`)).json()).rows, name);

own.on("a dropped file becomes a table whose types are those of its values", "#/data/shop/orders", async (page) => {
  const lines = ["code,city,zip,since,rating,open,seen", "a,Bern,03001,2020-02-29,4.5,true,2020-02-29T10:11:12Z", "b,,03002,2021-01-01,5,false,2021-01-01T00:00:00Z", "c,Basel,03003,2022-03-04,,true,2022-03-04T00:00:00Z"];
  await drop(page, "nav.side", "supplier.csv", `${lines.join("\n")}\n`);
  await page.waitForSelector("dialog th:has-text('key') select[aria-label='Type of code']");
  await page.click("dialog button.primary");
  await page.waitForSelector(".title .status:has-text('3 rows')");
  const made = await table(page, "supplier");
  assert.deepEqual(made.columns.map((column) => [column.name, column.type, column.nullable]), [["code", "text", false], ["city", "text", true], ["zip", "text", false], ["since", "date", false], ["rating", "f64", true], ["open", "bool", false], ["seen", "timestamp", false]]);
  assert.deepEqual(made.key, ["code"]);
  assert.deepEqual((await rows(page, "supplier"))[0], { code: "a", city: "Bern", zip: "03001", since: "2020-02-29", rating: 4.5, open: true, seen: "2020-02-29T10:11:12Z" });
});

own.on("a file that can't be imported leaves no table", "#/data/shop/orders", async (page) => {
  await drop(page, "nav.side", "visits.csv", "page,visits\nhome,7\nabout,many\n");
  await page.selectOption("dialog select[aria-label='Type of visits']", "i64");
  await page.click("dialog button.primary");
  await page.waitForSelector("dialog .problem:has-text('the table was not created')");
  assert.equal(await table(page, "visits"), undefined);
  await page.selectOption("dialog select[aria-label='Type of visits']", "text");
  await page.click("dialog button.primary");
  await page.waitForSelector(".title .status:has-text('2 rows')");
  assert.deepEqual(await rows(page, "visits"), [{ id: "1", page: "home", visits: "7" }, { id: "2", page: "about", visits: "many" }]);
  // Onto a table without these columns: it offers the same.
  await drop(page, "bobak-grid", "others.csv", "name\nx\n");
  await page.click("dialog button:has-text('Create a table of it')");
  await page.click("dialog button.primary:has-text('Create the table')");
  await page.waitForSelector(".tables a[title='others']");
  // Bobak's own tables are not the first that are shown.
  assert.equal((await page.$$eval(".tables a", (all) => all.map((one) => one.title))).at(-1), "bobak_migrations");
});

own.on("a file with semicolons is read as one, and long integers stay whole", "#/data/shop/orders", async (page) => {
  await drop(page, "nav.side", "parts.csv", '\uFEFFcode;name;price\r\n0012;"a;b";1,50\r\nB2;"c ""d""";2,25\r\nB3;;\r\n');
  await page.waitForSelector("dialog td:text-is('a;b')");
  await page.waitForSelector("dialog td:text-is('1,50')");
  await page.click("dialog button.primary");
  await page.waitForSelector(".title .status:has-text('3 rows')");
  assert.deepEqual(await rows(page, "parts"), [{ code: "0012", name: "a;b", price: "1,50" }, { code: "B2", name: 'c "d"', price: "2,25" }, { code: "B3", name: null, price: null }]);
  await drop(page, "bobak-grid", "more.csv", "code|price\nB4|3\n");
  await page.click("dialog button:text-is('Import')");
  await page.waitForSelector(".title .status:has-text('4 rows')");
  await drop(page, "nav.side", "long.csv", "id,big\n1,9007199254740993\n2,12345678901234567890\n");
  await page.click("dialog button.primary");
  await page.waitForSelector(".title .status:has-text('2 rows')");
  assert.deepEqual(await rows(page, "long"), [{ id: "1", big: "9007199254740993" }, { id: "2", big: "12345678901234567890" }]);
});

own.on("a plan that reads every row offers an index, which it then uses", "#/sql/shop", async (page) => {
  const explain = async (text) => {
    await page.fill("#sql", text);
    await page.click("button:has-text('Explain')");
    await page.waitForSelector(".output .plan li");
  };
  await explain("SELECT * FROM customer WHERE id > 3 ORDER BY id");
  assert.equal(await page.locator("button:has-text('Add this index')").count(), 0, "the key needs none");
  await explain("SELECT p.name FROM line AS l JOIN product p ON p.id = l.product_id WHERE l.amount = 3 -- AND order_id = 4");
  await page.waitForSelector(".output .hint:has-text('line reads every row: an index on amount may help')");
  await explain("SELECT * FROM customer WHERE city = 'Bern' AND name > 'M'");
  await page.waitForSelector(".output .hint:has-text('an index on city, name may help')");
  await page.click("button:has-text('Add this index')");
  await page.waitForSelector("dialog .steps li");
  await run(page);
  await page.waitForSelector(".plan li:has-text('USING INDEX customer_city_name')");
});

own.on("a column is added from the grid", "#/data/shop/product", async (page) => {
  await page.click("button:has-text('More')");
  await page.click(".menu >> text=Add a column…");
  await page.waitForSelector("dialog input:focus");
  await page.keyboard.type("origin");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .steps li:has-text('Add the column origin (text')");
  await run(page);
  await page.waitForSelector("bobak-grid [role=columnheader]:has-text('origin')");
  await page.click("bobak-grid [role=columnheader]:has-text('price')", { modifiers: ["Shift"] });
  await page.waitForSelector("[role=columnheader][aria-sort=descending]:has-text('price')");
});
