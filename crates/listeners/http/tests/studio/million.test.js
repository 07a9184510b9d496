// A million rows: the grid shows the first, the middle and the last ones, and few elements.

import assert from "node:assert/strict";
import { test } from "node:test";
import { launch, newPage, signIn, startServer } from "./server.js";

test("a million rows are reached", async () => {
  const server = await startServer({ orders: 1_000_000 });
  const browser = await launch();
  try {
    const page = await newPage(browser, server);
    await signIn(page, server);
    await page.goto(`${server.address}/studio/#/data/shop/orders`);
    await page.waitForFunction(() => document.querySelector(".title .status")?.textContent.includes("1,000,000 rows"));
    for (const row of [0, 499_999, 999_999, 250_000]) {
      await page.evaluate((row) => document.querySelector("bobak-grid").go(row, 0), row);
      await page.waitForFunction((row) => document.querySelector(`[data-row="${row}"][data-column="0"]`)?.textContent === String(row + 1), row);
      const rows = await page.$$eval("bobak-grid [role=row]", (all) => all.length);
      assert.ok(rows < 60, `${rows} rows are elements`);
    }
    assert.deepEqual(page.problems, []);
  } finally {
    await browser.close();
    await server.stop();
  }
});
