// Vectors, and the rows nearest to one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { col, column, connect, distance, table } from "../src/index.js";
import { fails, overEachTransport } from "./serving.js";

interface Document {
  id: bigint;
  language: string;
  embedding: Float32Array;
  picture: Float32Array | null;
}

const document = () => table("document", [
  column("id", "i64"), column("language", "text"), column("embedding", "vector", { length: 3 }),
  column("picture", "vector", { length: 2, nullable: true }),
]);

overEachTransport("nearest", async (whole) => {
  const db = whole as unknown as Awaited<ReturnType<typeof connect<{ document: Document }>>>;
  await db.create(document());
  const documents = await db.table("document");
  const vector = (...numbers: number[]) => Float32Array.from(numbers);
  const second = { id: 2n, language: "fr", embedding: vector(0.5, 2.5, 0), picture: vector(3, 4) };
  await documents.insertMany([
    { id: 1n, language: "en", embedding: vector(1, 0, 0), picture: null },
    second,
    { id: 3n, language: "en", embedding: vector(-1, 0.25, 0), picture: null },
  ]);
  assert.deepEqual(await documents.get(2n), second);
  const near = documents.where().nearest("embedding", [2, 0, 0], 10);
  assert.deepEqual((await near.all()).map((one) => one.id), [1n, 2n, 3n]);
  assert.deepEqual((await near.limit(1, 1).all()).map((one) => one.id), [2n]);
  const english = documents.where(col("language").eq("en")).nearest("embedding", vector(2, 0, 0), 1);
  assert.deepEqual(await english.select(["id", distance()]), [[1n, 0]]);
  assert.deepEqual(await documents.where().nearest("embedding", [0, 1, 0], 1, "dot").select(["id", distance()]), [[2n, -2.5]]);
  assert.deepEqual(await documents.where().nearest("picture", [3, 5], 9, "euclidean").select(["id", distance()]), [[2n, 1]]);
  for (const [to, kind] of [[[1, 2], "Mismatch"], [[1, NaN, 0], "OutOfRange"], [[1, Infinity, 0], "OutOfRange"]] as const) {
    await assert.rejects(documents.where().nearest("embedding", to, 3).all(), fails(kind));
    const row = { id: 9n, language: "en", embedding: Float32Array.from(to), picture: null };
    await assert.rejects(documents.insert(row), fails(kind));
  }
  await assert.rejects(documents.where().nearest("embedding", [0, 0, 0], 3).all(), fails("OutOfRange"));
  await assert.rejects(documents.where().nearest("id", [1], 3).all(), fails("Mismatch"));
  for (const query of [near.orderBy("id"), near.search("fox"), near.forUpdate()]) {
    await assert.rejects(query.all(), fails("Unsupported"));
  }
  await assert.rejects(near.delete(), fails("Misuse"));
  await assert.rejects(near.count(), fails("Unsupported"));
  await assert.rejects(documents.where().select([distance()]), fails("Schema"));
  assert.throws(() => near.column("id"), fails("Misuse"));
  await assert.rejects(documents.where().nearest("embedding", [1, 0, 0], 3, "cos" as "dot").all(), fails("Misuse"));
  assert.deepEqual((await near.first())?.id, 1n);
  const related = await documents.where().nearest("embedding", [2, 0, 0], 1).related("language", [{ key: "en" }, { key: "fr" }], "key");
  assert.deepEqual(related.map((rows) => rows.map((one) => one.id)), [[1n], [2n]]);
  await db.track("document", { history: true });
  await documents.set(1n, { embedding: vector(0, 0, 1) });
  const change = (await db.changes(["document"], { since: 0 })).changes[0]!;
  assert.deepEqual([change.before?.["embedding"], change.after?.["embedding"]], [vector(1, 0, 0), vector(0, 0, 1)]);
});

test("a vector has a length", () => {
  assert.throws(() => column("v", "vector"), fails("Schema"));
  assert.throws(() => column("v", "vector", { length: 0 }), fails("Schema"));
  assert.throws(() => column("v", "i64", { length: 3 }), fails("Schema"));
});
