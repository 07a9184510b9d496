// Pages of queries, in any order.
import assert from "node:assert/strict";
import { col, column, connect, table } from "../src/index.js";
import { fails, overEachTransport } from "./serving.js";

interface Item {
  id: bigint;
  name: string | null;
  size: number | null;
}

overEachTransport("pages follow each other in any order", async (whole) => {
  const db = whole as unknown as Awaited<ReturnType<typeof connect<{ item: Item }>>>;
  await db.create(table("item", [column("id", "i64"), column("name", "text", { nullable: true }), column("size", "f64", { nullable: true })]));
  const items = await db.table("item");
  for (const [name, size] of [["x", 0.1], [null, 2], ["é", 2], ["x", null], ["", 0.1], [null, null], ["x", 1e300]] as const) {
    await items.insert({ name, size } as Item);
  }
  for (const order of [[], ["-id"], ["name"], ["-name"], ["size", "-name"], ["-size", "name", "-id"]]) {
    const query = items.where(col("id").gt(1n)).orderBy(...order);
    const found: Item[] = [];
    for (let after: string | null = null, first = true; first || after !== null; first = false) {
      const page: { items: Item[]; next: string | null } = await query.page(2, after);
      found.push(...page.items);
      after = page.next;
      assert.ok(after === null || page.items.length === 2);
    }
    assert.deepEqual(found, await query.all(), order.join());
  }
  const query = items.where().orderBy("-size");
  const first = await query.page(3);
  await items.insert({ name: "new", size: 1e301 } as Item);
  assert.deepEqual((await query.page(9, first.next)).items, (await query.all()).slice(4));
  await assert.rejects(query.page(2, "zz"), fails("Mismatch"));
  await assert.rejects(query.page(2, ""), fails("Mismatch"));
  await assert.rejects(query.orderBy("name").page(2, first.next), fails("Misuse"));
  await assert.rejects(items.where().orderBy("size").page(2, first.next), fails("Misuse"));
  await assert.rejects(items.where().orderBy("-name").page(2, first.next), fails("Misuse"));
  await assert.rejects(query.limit(3).page(2), fails("Unsupported"));
  await assert.rejects(query.page(0), fails("Misuse"));
});
