// Runs the tasks in each product, and prints a table: `node run.js BOBAK POCKETBASE DATASETTE [ROUNDS] [TASK…]`.
//
// A product's name may be `-`: it is left out then. Each task begins on the product's first page, signed in.

import { availableParallelism } from "node:os";
import { launch } from "../server.js";
import { Hand } from "./hand.js";
import { TASKS } from "./tasks.js";

const [bobak, pocketbase, datasette, rounds = "1", ...only] = process.argv.slice(2);
const programs = Object.entries({ bobak, pocketbase, datasette }).filter(([, program]) => program && program !== "-");
const names = Object.keys(TASKS).filter((name) => !only.length || only.includes(name));
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Does one task: what was done, or why the product can't. */
async function attempt(browser, product, state, task) {
  if (typeof task === "string") return { reason: task };
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, storageState: state, acceptDownloads: true });
  const page = await context.newPage();
  page.setDefaultTimeout(5_000);
  try {
    await page.goto(product.home);
    await product.ready(page);
    await task.before?.(page, product);
    const hand = new Hand(page);
    const check = await (task.run ?? task)(hand, product);
    const done = hand.count();
    await check?.();
    return done;
  } finally {
    await context.close();
  }
}

/** Does all tasks on a new server, in order. */
async function round(browser, name, program, results) {
  const { start, tasks } = await import(`./${name}.js`);
  const product = await start(program);
  try {
    const context = await browser.newContext();
    const page = await context.newPage();
    await product.signIn(page);
    const state = await context.storageState();
    await context.close();
    for (const task of names) {
      try {
        (results[task] ??= []).push(await attempt(browser, product, state, tasks[task] ?? "not written"));
      } catch (error) {
        console.error(`${name}, ${task}: ${error.stack}`);
        process.exitCode = 1;
        (results[task] ??= []).push({ reason: "failed" });
      }
    }
    return `${product.name} ${product.version}`;
  } finally {
    product.stop();
  }
}

const browser = await launch();
const results = {};
const versions = {};
for (let at = 0; at < Number(rounds); at++) for (const [name, program] of programs) versions[name] = await round(browser, name, program, (results[name] ??= {}));
await browser.close();

/** What a row of the table says of a product. A round that failed was reported, and does not count. */
const cells = (all) => {
  const done = all.filter(({ reason }) => !reason);
  const [first] = done;
  if (!first) return ["no", "", ""];
  return [first.clicks, first.entries + first.keys, median(done.map(({ seconds }) => seconds)).toFixed(2)];
};
console.log(`${Object.values(versions).join(", ")}; ${rounds} rounds, ${availableParallelism()} cores`);
console.log(`| | ${programs.map(([name]) => `${name}: clicks | entries and keys | seconds`).join(" | ")} |`);
console.log(`|---|${programs.map(() => "---:|---:|---:|").join("")}`);
for (const task of names) console.log(`| ${TASKS[task]} | ${programs.map(([name]) => cells(results[name][task]).join(" | ")).join(" | ")} |`);
for (const [name] of programs) for (const task of names) if (results[name][task].every(({ reason }) => reason)) console.log(`${name}, ${TASKS[task]}: ${results[name][task][0].reason}`);
