// Values of SQL results.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, connect, Money, table, type Database } from "../src/index.js";
import { loadResult } from "../src/values.js";
import { fails, inFolder, unix } from "./serving.js";

test("SQL returns the values that tables return", () => inFolder(async (folder) => {
  const server = await unix(folder);
  const db = await connect(`bobak+unix:${server.place}`);
  try {
    await db.create(table("paid", [
      column("id", "i64"), column("amount", "currency"), column("is_open", "bool"), column("day", "date"), column("note", "json"),
    ]));
    const paid = await db.table("paid");
    const row = { amount: Money.parse("2.50"), is_open: false, day: "2024-07-01", note: '{"x":1}' };
    await paid.insert({ ...row });
    assert.deepEqual(await db.sql("SELECT amount, is_open, day, note FROM paid"), [row]);
    assert.deepEqual(await db.sql("SELECT sum(amount) AS total, count(*) AS n FROM paid"), [{ total: Money.parse("2.50"), n: 1n }]);
  } finally {
    await db.close();
    await server.kill();
  }
}));

test("a decimal number is a text, whole or not", () => {
  for (const [stored, text] of [[2n, "2"], ["5.5", "5.5"]] as const) {
    assert.equal(loadResult(stored, "decimal"), text);
    assert.deepEqual(Money.parse(String(loadResult(stored, "decimal"))), Money.parse(text));
  }
  assert.equal(loadResult(null, "decimal"), null);
});

test("rows of SQL in constant memory, and keys of a batch", () => inFolder(async (folder) => {
  const server = await unix(folder);
  const db: Database<any> = await connect<any>(`bobak+unix:${server.place}`);
  try {
    await db.create(
      table("item", [column("id", "i64"), column("name", "text", { unique: true })]), table("token", [column("id", "uuid"), column("name", "text")]),
    );
    const [items, tokens] = [await db.table("item"), await db.table("token")];
    const many = Array.from({ length: 30_000 }, (_, number) => ({ name: `n ${number}` }));
    const report = await items.insertMany(many);
    assert.deepEqual([...report.keys()], many.map((_, number) => BigInt(number + 1)));
    let seen = 0n;
    for await (const row of db.sqlRows<{ id: bigint; name: string }>("SELECT id, name FROM item WHERE id > ? ORDER BY id", [10])) {
      if (seen === 0n) assert.deepEqual(row, { id: 11n, name: "n 10" });
      seen++;
      if (seen === 20_000n) break;
    }
    assert.equal(seen, 20_000n);
    await assert.rejects(db.sqlRows("SELECT 1 AS a, 2 AS a").next(), fails("Misuse"));
    // The keys of UUIDs are made here; rows that are left out have none.
    const made = [...(await tokens.insertMany([{ name: "a" }, { name: "b" }])).keys()];
    assert.deepEqual(made, (await tokens.where().all()).map((row: any) => row.id));
    const some = await items.insertMany([{ name: "n 1" }, { name: "new" }], { onConflict: "ignore" });
    assert.deepEqual([some.ignored, some.inserted, [...some.keys()].map((key) => key !== null)], [1, 1, [false, true]]);
    await items.insertMany([{ name: "n 2" }], { onConflict: "replace" });
    assert.equal(await items.count(), 30_001);
    const skipped = await items.insertMany([{ name: "n 3" }, { name: "newer" }], { skipErrors: true });
    assert.deepEqual([...skipped.keys()].map((key) => key !== null), [false, true]);
  } finally {
    await db.close();
    await server.kill();
  }
}));
