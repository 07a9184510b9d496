// A picture of each page, in both themes and for a phone: `node screenshots.js FOLDER`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, newPage, signIn, startServer } from "./server.js";

const folder = process.argv[2] ?? "screenshots";
mkdirSync(folder, { recursive: true });
const statement = encodeURIComponent("SELECT status, count(*) AS orders, sum(total) AS total\nFROM orders\nGROUP BY status\nORDER BY total DESC");
const PAGES = {
  data: ["data/shop/orders?facets=status"],
  row: ["data/shop/orders?facets=status&row=5"],
  sql: [`sql/shop?q=${statement}`, (page) => page.click("button:has-text('Chart')")],
  live: ["live/shop", sell],
  schema: ["schema/shop"],
  admin: ["admin/shop"],
  server: ["server/shop"],
};

/** Makes some changes. */
async function sell(page) {
  await page.waitForSelector(".status:has-text('connected')");
  await page.evaluate(async () => {
    const change = (table, key, body) => fetch(`../databases/shop/tables/${table}/rows/${key}`, { method: "PATCH", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    await change("orders", 7, { status: "paid", total: 120.5 });
    await change("customer", 3, { city: "Bern" });
    await change("orders", 8, { status: "sent" });
  });
  await page.waitForSelector(".events li:nth-child(3)");
}

const server = await startServer({ orders: 3_000, plain: true });
const browser = await launch();
try {
  const first = await newPage(browser, server);
  await signIn(first, server);
  const storageState = await first.context().storageState();
  for (const [width, height] of [[1280, 760], [390, 800]]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await newPage(browser, server, { storageState, colorScheme, viewport: { width, height } });
      for (const [name, [path, act]] of Object.entries(PAGES)) {
        await page.goto(`${server.address}/studio/#/${path}`);
        await page.waitForSelector(".page");
        await page.waitForTimeout(500);
        await act?.(page);
        await page.waitForTimeout(200);
        await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
        if (width > 390 && ((name === "data" && colorScheme === "light") || (name === "sql" && colorScheme === "dark"))) await page.screenshot({ path: join(folder, `${name}.jpg`), type: "jpeg", quality: 82 });
      }
      await page.context().close();
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
