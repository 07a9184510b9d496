// How long the first view of the studio takes, and the memory of the server: `node view.js BOBAK [TIMES]`.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { launch } from "../server.js";

const [program, times = "10"] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "studio-view-"));
const ROWS = `CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT, amount REAL);
  INSERT INTO item WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i, 'Item ' || i, 'c' || (i % 500), i * 1.5 FROM n;`;
execFileSync("sqlite3", [join(folder, "shop.db")], { input: `PRAGMA journal_mode = wal;\n${ROWS}` });
const child = spawn("nice", ["-n", "-15", program, "studio", "shop.db", "--no-browser", "--http", "127.0.0.1:0", "--quiet"], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
const address = (await lines.next()).value.replace("listening on ", "");
const link = (await lines.next()).value;
const memory = () => {
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  const [all, own] = ["VmRSS", "RssAnon"].map((name) => (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024).toFixed(1));
  return `${all} MB, of which ${own} MB are not pages of files,`;
};
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

console.log(`${memory()} at rest, before the first request`);
const browser = await launch();
const first = await browser.newContext();
const page = await first.newPage();
await page.goto(link);
await page.waitForSelector("bobak-grid [role=gridcell]");
const storageState = await first.storageState();

/** The time from the beginning of the navigation until the first cell has a value. */
async function view(page) {
  await page.addInitScript(() => {
    const seen = () => (document.querySelector("bobak-grid [role=gridcell]")?.textContent ? (window.seenAt = performance.now()) : requestAnimationFrame(seen));
    seen();
  });
  // The browser itself is busy for a while after it opened a window.
  await page.waitForTimeout(1_000);
  await page.goto(`${address}/studio/`);
  await page.waitForFunction(() => window.seenAt);
  return page.evaluate(() => window.seenAt);
}

const [cold, warm] = [[], []];
for (let at = 0; at < Number(times); at++) {
  const context = await browser.newContext({ storageState });
  const own = await context.newPage();
  cold.push(await view(own));
  const next = await context.newPage();
  warm.push(await view(next));
  await context.close();
}
for (const [name, all] of Object.entries({ cold, warm })) console.log(`${name} cache: median ${median(all).toFixed(0)} ms of ${all.map((one) => one.toFixed(0)).join(", ")}`);
await new Promise((resolve) => setTimeout(resolve, 2_000));
console.log(`${memory()} at rest, after ${2 * Number(times) + 1} views`);
await browser.close();
child.kill();
child.once("exit", () => rmSync(folder, { recursive: true, force: true }));
