// SQLite files of other programs: keys in another order than the columns, odd names, values that are not of their column's type.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { column, connect, table } from "../src/index.js";
import { fails, inFolder, program } from "./serving.js";

type Db = Awaited<ReturnType<typeof connect<Record<string, Record<string, unknown>>>>>;

/** Runs a test on a database that has these statements behind it. */
function other(name: string, statements: string[], work: (db: Db, folder: string) => Promise<void>): void {
  test(name, () => inFolder(async (folder) => {
    const db = await connect<Record<string, Record<string, unknown>>>(`bobak+stdio:${program()} serve ${join(folder, "app.db")} --stdio`);
    try {
      for (const statement of statements) await db.execute(statement);
      await work(db, folder);
    } finally {
      await db.close();
    }
  }));
}

other("a key is in the order of the primary key", [
  "CREATE TABLE s (a INT NOT NULL, b INT NOT NULL, c INT, PRIMARY KEY (b, a))",
  "INSERT INTO s VALUES (1, 2, 12), (2, 1, 21)",
], async (db, folder) => {
  const crossings = await db.table("s");
  assert.deepEqual(await crossings.get([2n, 1n]), { a: 1n, b: 2n, c: 12n });
  const [a, b] = ["a", "b"].map((name) => column(name, "i64", { key: true }));
  const c = column("c", "i64", { nullable: true });
  await assert.rejects(db.create(table("s", [a!, b!, c])), fails("Schema"));
  await db.create(table("s", [b!, c, a!]));
  const made = execFileSync(program(), ["schema", "app.db", "--typescript"], { cwd: folder, encoding: "utf8" });
  assert.match(made, /export interface S \{\n  b: bigint;\n  a: bigint;\n/);
  assert.match(made, /column\("b", "i64", \{ key: true \}\),\n  column\("a", "i64", \{ key: true \}\),/);
});

other("a column may have the name of the property of prototypes", [
  'CREATE TABLE p (id INTEGER PRIMARY KEY, "__proto__" TEXT)',
  "INSERT INTO p VALUES (1, 'P'), (2, NULL)",
], async (db) => {
  const table = await db.table("p");
  assert.deepEqual(Object.entries((await table.get(1n))!), [["id", 1n], ["__proto__", "P"]]);
  const second = (await table.get(2n))!;
  assert.deepEqual(Object.entries(second), [["id", 2n], ["__proto__", null]]);
  assert.equal(Object.getPrototypeOf(second), Object.prototype);
  await table.insert(Object.fromEntries([["id", 3n], ["__proto__", "Q"]]));
  const all = await table.where().all();
  assert.deepEqual((await table.where().related("__proto__", all, "__proto__")).map((rows) => rows.length), [1, 0, 1]);
});

other("what is no truth value stays as it is stored", [
  "CREATE TABLE t (id INTEGER PRIMARY KEY, done BOOLEAN)",
  "INSERT INTO t VALUES (1, 1), (2, 0), (3, NULL), (4, 'false'), (5, 5), (6, 1.5)",
], async (db) => {
  const values = [true, false, null, "false", 5n, 1.5];
  const rows = await (await db.table("t")).where().all();
  assert.deepEqual(rows.map((row) => row.done), values);
});
