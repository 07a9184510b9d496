// Tables that another program changes while a program uses them.
import assert from "node:assert/strict";
import { col, column, table, type Database } from "../src/index.js";
import { fails, overEachTransport } from "./serving.js";

overEachTransport("a table that has other columns is looked at again", async (whole) => {
  const db = whole as unknown as Database;
  await db.create(table("part", [column("id", "i64"), column("name", "text"), column("size", "i32", { nullable: true })]));
  const parts = await db.table("part");
  assert.equal(await parts.insert({ name: "a" }), 1n);
  const selected = parts.where(col("name").eq("a"));
  await db.execute("ALTER TABLE part DROP COLUMN size");
  await db.execute("ALTER TABLE part ADD COLUMN weight INTEGER");
  assert.deepEqual(await selected.all(), [{ id: 1n, name: "a", weight: null }]);
  assert.deepEqual(await parts.get(1), { id: 1n, name: "a", weight: null });
  const made: Record<string, unknown> = { name: "b", weight: 5n };
  assert.equal(await parts.insert(made), 2n);
  assert.equal(made["id"], 2n);
  assert.ok(await parts.set(1, { weight: 6n }));
  assert.equal(await selected.where(col("weight").eq(6n)).count(), 1);
  assert.equal((await parts.insertMany([{ name: "c", weight: 7n }])).inserted, 1);
  assert.deepEqual(parts.schema.columns.map((one) => one.name), ["id", "name", "weight"]);
  await assert.rejects(parts.where(col("size").eq(5n)).all(), fails("Schema"));
  await db.transaction(async (transaction) => {
    await assert.rejects(parts.in(transaction).get([1, 2]), fails("Misuse"));
    assert.equal(await parts.in(transaction).count(), 3);
  });
});
