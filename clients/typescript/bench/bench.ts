// Rows per second: the workloads of `bobak bench`, from TypeScript.
//
//     npm run bench [-- URL [ROWS]]
//
// Without a URL it starts the program that cargo has built, over a Unix socket and over pipes, with a database in memory.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { column, connect, Money, table } from "../src/index.js";

interface Sample {
  id: bigint;
  first_name: string;
  last_name: string;
  amount: Money;
  birth_date: string;
  last_change: string;
  created_at: string;
}

const sample = table("sample", [
  column("id", "i64"), column("first_name", "text", { max: 40 }), column("last_name", "text", { max: 40 }),
  column("amount", "currency"), column("birth_date", "datetime"), column("last_change", "timestamp", { modifiedAt: true }),
  column("created_at", "timestamp", { createdAt: true }),
]);

const samples = (count: number): Partial<Sample>[] => Array.from({ length: count }, (_, n) => ({
  first_name: `Namé ${n + 1}`, last_name: String(n + 1), amount: new Money(BigInt(100 * (n + 1))),
  birth_date: new Date(Date.UTC(1900, 0, 1 + (n % 40_000))).toISOString().slice(0, 19),
}));

async function cell(name: string, rows: number, work: () => Promise<unknown>): Promise<void> {
  const begun = performance.now();
  await work();
  const rate = Math.round((1_000 * rows) / (performance.now() - begun)).toLocaleString("en");
  console.log(`  ${name.padEnd(12)} ${rate.padStart(12)}`);
}

async function measure(url: string, rows: number): Promise<void> {
  const few = Math.max(1, Math.floor(rows / 20));
  const db = await connect<{ sample: Sample }>(url);
  await db.create(sample);
  const people = await db.table("sample");
  await people.where().delete();
  const all = samples(rows);
  const some = all.slice(0, few);
  await cell("direct", few, async () => {
    for (const one of some) await people.insert(one);
  });
  await cell("trans", few, () => db.transaction(async (transaction) => {
    const inside = people.in(transaction);
    for (const one of some) await inside.insert(one);
  }));
  await people.where().delete();
  await cell("batch trans", rows, () => people.insertMany(all));
  const keys = (await db.sql<{ id: bigint }>("SELECT id FROM sample ORDER BY id")).map((row) => row.id);
  await cell("by one", few, async () => {
    for (const key of keys.slice(0, few)) await people.get(key);
  });
  await cell("by many", rows, () => people.getMany(keys));
  let found: Sample[] = [];
  await cell("all direct", rows, async () => (found = await people.where().all()));
  if (found.some((one, place) => one.amount.scaled !== all[place]!.amount!.scaled)) throw new Error("wrong amounts");
  await cell("iterator", rows, async () => {
    let count = 0;
    for await (const _ of people.where()) count++;
    if (count !== rows) throw new Error(`${count} rows`);
  });
  await cell("sql", rows, () => db.sql("SELECT * FROM sample"));
  await db.close();
}

function program(): string {
  const root = fileURLToPath(new URL("../../../..", import.meta.url));
  const target = process.env["CARGO_TARGET_DIR"] ?? join(root, "target");
  const built = ["release", "debug"].map((profile) => resolve(target, profile, "bobak"));
  const found = process.env["BOBAK_TEST_PROGRAM"] ?? built.find(existsSync);
  if (!found) throw new Error("no program to measure: run `cargo build --release -p bobak-cli` first");
  return found;
}

const [url, rows = "100000"] = process.argv.slice(2);
if (url) {
  console.log(url.split("?")[0]);
  await measure(url, Number(rows));
} else {
  const folder = mkdtempSync(join(tmpdir(), "bobak-"));
  const socket = join(folder, "socket");
  const server = spawn(program(), ["serve", "sqlite::memory:", "--unix", socket], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    await once(server.stdout, "data");
    console.log("unix socket, sqlite in memory");
    await measure(`bobak+unix:${socket}`, Number(rows));
    console.log("pipes, sqlite in memory");
    await measure(`bobak+stdio:${program()} serve sqlite::memory: --stdio`, Number(rows));
  } finally {
    server.kill();
    rmSync(folder, { recursive: true });
  }
}
