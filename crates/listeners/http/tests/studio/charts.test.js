// Charts of results: histograms, maps, and of more rows than any page could load.

import assert from "node:assert/strict";
import { studio } from "./server.js";

const own = studio({ orders: 2_000, plain: true });
const { on } = own;

const run = async (page, text) => {
  await page.fill("#sql", text);
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".output bobak-grid [role=gridcell]", { timeout: 120_000 });
};
const choose = (page, label, value) => page.selectOption(`.plot label:has-text('${label}') select`, value);
const label = (page) => page.getAttribute("svg.chart", "aria-label");
/** The numbers of rows that the titles of the marks name. */
const rows = (page) => page.$$eval("svg.chart .mark title", (all) => all.map((one) => Number(/([\d,]+) rows?$/.exec(one.textContent)?.[1].replaceAll(",", "") ?? 1)));
const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

on("a histogram counts every row once", "#/sql/shop", async (page) => {
  await run(page, "SELECT total FROM orders");
  await page.click("button:has-text('Chart')");
  await page.waitForSelector("svg.chart[aria-label^='Histogram of total']");
  assert.equal(await page.isVisible(".plot label:has-text('Across')"), false);
  assert.equal(await page.isVisible(".plot label:has-text('Values') select"), true);
  const [[total]] = await page.evaluate(async () => (await (await fetch("../databases/shop/sql?numbers=text", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ sql: "SELECT count(total) FROM orders" }) })).json()).rows);
  assert.equal(sum(await rows(page)), Number(total));
  await run(page, "SELECT 5 AS same FROM orders LIMIT 7");
  await page.waitForSelector("svg.chart[aria-label='Histogram of same, 7 points']");
  assert.equal(sum(await rows(page)), 7);
});

on("a map shows places over a graticule, and nothing from elsewhere", "#/sql/shop", async (page) => {
  await run(page, "SELECT 'Bern' AS name, 46.95 AS lat, 7.45 AS lon UNION ALL SELECT 'Sydney', -33.87, 151.21 UNION ALL SELECT 'nowhere', 95, 7 UNION ALL SELECT 'unknown', NULL, NULL");
  await page.click("button:has-text('Chart')");
  await page.waitForSelector("svg.chart[aria-label^='Map of lat and lon']");
  assert.equal(await page.locator("svg.chart circle.mark").count(), 2);
  assert.match(await page.textContent(".plot .hint"), /2 are no places/);
  const titles = await page.$$eval("svg.chart circle.mark title", (all) => all.map((one) => one.textContent));
  assert.deepEqual(titles, ["46.95°N 7.45°E", "33.87°S 151.21°E"]);
  const [bern, sydney] = await page.$$eval("svg.chart circle.mark", (all) => all.map((one) => [Number(one.getAttribute("cx")), Number(one.getAttribute("cy"))]));
  assert.ok(bern[0] < sydney[0] && bern[1] < sydney[1], "west is left, north is up");
  assert.ok((await page.locator("svg.chart line.rule").count()) >= 4);
});

on("a chart over ten million rows is computed by the database", "#/sql/shop", async (page) => {
  const read = [];
  page.on("response", async (response) => response.url().includes("/sql") && read.push((await response.body().catch(() => "")).length));
  await run(page, "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3162)\nSELECT a.i * 3163 + b.i AS at, (a.i * 3163 + b.i) % 1000 AS value, (a.i % 100) + 0.5 AS lon, (b.i % 50) + 0.5 AS lat\nFROM n a, n b LIMIT 10000000 -- a comment");
  assert.match(await page.textContent(".output [role=status]"), /and more/);
  read.length = 0;
  await page.click("button:has-text('Chart')");
  const shown = async (kind) => {
    await choose(page, "Chart", kind);
    await page.waitForSelector(`svg.chart[aria-label*='${{ histogram: "Histogram", map: "Map", line: "Line", bar: "Bar", scatter: "Scatter" }[kind]}'][aria-label$=', 10,000,000 points']`, { timeout: 300_000 });
    assert.match(await page.textContent(".plot .hint"), /^10,000,000 rows, summarized by the database/);
  };
  const nearly = (found) => assert.ok(Math.abs(sum(found) - 10_000_000) < 100_000, `${sum(found)} rows, estimated by a sample`);
  await shown("map");
  const places = await rows(page);
  assert.ok(places.length <= 9_600, `${places.length} places`);
  nearly(places);
  await choose(page, "Up", "1");
  await shown("histogram");
  const bins = await rows(page);
  assert.equal(bins.length, 40);
  nearly(bins);
  assert.ok(Math.max(...bins) < 1.2 * Math.min(...bins), "the values are spread evenly");
  await shown("line");
  const points = await page.getAttribute("svg.chart path.line", "d");
  assert.ok(points.split(/[ML]/).length <= 2_100, "two values for each of a thousand parts");
  assert.ok(sum(read) < 2_000_000, `${sum(read)} bytes were read for three charts`);
});
