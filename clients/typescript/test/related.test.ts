// Rows that are related to records, with one query for all of them.
import assert from "node:assert/strict";
import { add, col, column, connect, not, table } from "../src/index.js";
import { fails, overEachTransport } from "./serving.js";

interface Customer {
  id: bigint;
  name: string;
}
interface Purchase {
  id: bigint;
  customer_id: bigint | null;
}
interface Item {
  id: bigint;
  purchase_id: bigint;
  amount: bigint;
}

overEachTransport("related rows", async (whole) => {
  const db = whole as unknown as Awaited<ReturnType<typeof connect<{ customer: Customer; purchase: Purchase; item: Item }>>>;
  await db.create(table("customer", [column("id", "i64"), column("name", "text")]));
  await db.create(table("purchase", [column("id", "i64"), column("customer_id", "i64", { nullable: true })]));
  await db.create(table("item", [column("id", "i64"), column("purchase_id", "i64"), column("amount", "i64")]));
  const [customers, purchases, items] = [await db.table("customer"), await db.table("purchase"), await db.table("item")];
  await customers.insertMany([{ id: 1n, name: "Ada" }, { id: 2n, name: "Bob" }]);
  await purchases.insertMany([{ id: 10n, customer_id: 1n }, { id: 11n, customer_id: 2n }, { id: 12n, customer_id: null }]);
  await items.insertMany([[10n, 3n], [10n, 5n], [10n, 4n], [11n, 1n]].map(([purchase_id, amount]) => ({ purchase_id: purchase_id!, amount: amount! })));
  const all = await purchases.where().all();
  const amounts = async (selection: ReturnType<typeof items.where>) =>
    (await selection.related("purchase_id", all, "id")).map((rows) => rows.map((item) => Number(item.amount)));
  assert.deepEqual(await amounts(items.where()), [[3, 5, 4], [1], []]);
  const largest = items.where(col("amount").gt(1)).orderBy("-amount");
  assert.deepEqual(await amounts(largest), [[5, 4, 3], [], []]);
  assert.deepEqual(await amounts(largest.limit(1, 1)), [[4], [], []]);
  const ofOne = await largest.limit(1, 1).related("purchase_id", all.slice(0, 1), "id");
  assert.deepEqual(ofOne.map((rows) => rows.map((item) => Number(item.amount))), [[4]]);
  // Along a reference: at most one row for each record.
  const referenced = await customers.where().related("id", all, "customer_id");
  assert.deepEqual(referenced, [[{ id: 1n, name: "Ada" }], [{ id: 2n, name: "Bob" }], []]);
  assert.deepEqual(await items.where().related("purchase_id", [{ id: null }], "id"), [[]]);
  assert.equal((await items.where().related("purchase_id", [{ id: 10 }], "id"))[0]!.length, 3);
  await assert.rejects(items.where().related("nothing" as "id", all, "id"), fails("Schema"));
  // Conditions on rows of other tables.
  const ada = customers.where(col("name").eq("Ada")).column("id");
  const ofAda = purchases.where(col("customer_id").in(ada));
  assert.deepEqual((await ofAda.all()).map((one) => one.id), [10n]);
  assert.deepEqual((await purchases.where(not(col("customer_id").in(ada))).all()).map((one) => one.id), [11n]);
  const bought = items.where(col("purchase_id").in(ofAda.column("id")), col("amount").gt(3));
  assert.deepEqual((await bought.orderBy("amount").all()).map((one) => one.amount), [4n, 5n]);
  const large = items.where(col("amount").gt(4)).column("purchase_id");
  assert.deepEqual((await purchases.where(col("id").in(large)).all()).map((one) => one.id), [10n]);
  assert.equal(await bought.update({ amount: add(10) }), 2);
  assert.equal(await items.where(col("purchase_id").in(ofAda.column("id"))).delete(), 3);
  assert.equal(await items.where().count(), 1);
  assert.throws(() => customers.where().limit(1).column("id"), fails("Misuse"));
  await assert.rejects(purchases.where(col("id").in(customers.where().column("name"))).all(), fails("Mismatch"));
});

interface Comment {
  id: bigint;
  text: string;
  target_table: string;
  target_key: bigint;
}

overEachTransport("references to a record of any type", async (whole) => {
  const db = whole as unknown as Awaited<ReturnType<typeof connect<{ customer: Customer; purchase: Purchase; comment: Comment }>>>;
  await db.create(table("customer", [column("id", "i64"), column("name", "text")]));
  await db.create(table("purchase", [column("id", "i64"), column("customer_id", "i64", { nullable: true })]));
  const columns = [column("id", "i64"), column("text", "text"), column("target_table", "text"), column("target_key", "i64")];
  await db.create(table("comment", columns));
  const [customers, purchases, comments] = [await db.table("customer"), await db.table("purchase"), await db.table("comment")];
  await customers.insertMany([{ id: 1n, name: "Ada" }, { id: 2n, name: "Bob" }]);
  await purchases.insertMany([{ id: 10n, customer_id: 1n }]);
  const rows: [string, string, bigint][] = [["kind", "customer", 1n], ["late", "purchase", 10n], ["nice", "customer", 1n], ["gone", "purchase", 1n]];
  await comments.insertMany(rows.map(([text, target_table, target_key]) => ({ text, target_table, target_key })));
  const people = await customers.where().all();
  const ofPeople = comments.where(col("target_table").eq("customer")).orderBy("-text");
  const texts = (found: Comment[][]) => found.map((row) => row.map((one) => one.text));
  assert.deepEqual(texts(await ofPeople.related("target_key", people, "id")), [["nice", "kind"], []]);
  assert.deepEqual(texts(await ofPeople.limit(1).related("target_key", people, "id")), [["nice"], []]);
  // In the other direction: the records of one type at a time.
  const about = await comments.where(col("target_table").eq("purchase")).all();
  assert.deepEqual(await purchases.where().related("id", about, "target_key"), [[{ id: 10n, customer_id: 1n }], []]);
});

overEachTransport("UUIDs that are written otherwise", async (whole) => {
  const db = whole as unknown as Awaited<ReturnType<typeof connect<{ basket: { id: string }; piece: { id: bigint; basket_id: string } }>>>;
  await db.create(table("basket", [column("id", "uuid")]), table("piece", [column("id", "i64"), column("basket_id", "uuid")]));
  const [baskets, pieces] = [await db.table("basket"), await db.table("piece")];
  const id: string = await baskets.insert({});
  await pieces.insert({ basket_id: id });
  for (const written of [id, id.toUpperCase(), id.replaceAll("-", "")]) {
    assert.equal((await pieces.where().related("basket_id", [{ id: written }], "id"))[0]!.length, 1);
  }
});
