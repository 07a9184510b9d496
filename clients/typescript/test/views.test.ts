// Views are tables that can only be read.
import assert from "node:assert/strict";
import { col, connect } from "../src/index.js";
import { fails, overEachTransport } from "./serving.js";

interface Item {
  id: bigint;
  amount: bigint;
}

overEachTransport("views are read", async (whole) => {
  const db = whole as unknown as Awaited<ReturnType<typeof connect<{ item: Item; large: Item }>>>;
  await db.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)");
  await db.execute("INSERT INTO item (amount) VALUES (1), (4), (5)");
  await db.execute("CREATE VIEW large AS SELECT id, amount FROM item WHERE amount > 3");
  const [items, view] = [await db.table("item"), await db.table("large")];
  assert.deepEqual(await view.where().orderBy("-amount").all(), [{ id: 3n, amount: 5n }, { id: 2n, amount: 4n }]);
  assert.equal(await view.where(col("amount").gt(4)).count(), 1);
  const largest = view.where(col("amount").gt(4)).column("id");
  assert.deepEqual(await items.where(col("id").in(largest)).all(), [{ id: 3n, amount: 5n }]);
  await assert.rejects(view.insert({ id: 9n, amount: 9n }), fails("Unsupported"));
  await assert.rejects(view.where().update({ amount: 1n }), fails("Unsupported"));
  await assert.rejects(view.where().delete(), fails("Unsupported"));
  assert.equal(await items.where().count(), 3);
});
