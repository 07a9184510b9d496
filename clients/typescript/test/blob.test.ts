// Values of bytes in parts, and plans of queries.
import assert from "node:assert/strict";
import { BobakError, col, column, connect, table } from "../src/index.js";
import { fails, overEachTransport } from "./serving.js";

interface Photo {
  id: bigint;
  name: string;
  data: Uint8Array | null;
  version: bigint;
}

const photo = () => table("photo", [
  column("id", "i64"), column("name", "text", { index: true }), column("data", "bytes", { nullable: true }),
  column("version", "i64", { version: true }),
]);
const data = Uint8Array.from({ length: 1_500_001 }, (_, at) => (at * 2_654_435) >> 13);

async function* parts(bytes: Uint8Array, error?: Error): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 100_003) yield bytes.subarray(at, at + 100_003);
  if (error) throw error;
}

overEachTransport("values in parts", async (whole) => {
  const db = whole as unknown as Awaited<ReturnType<typeof connect<{ photo: Photo }>>>;
  await db.create(photo());
  const photos = await db.table("photo");
  const id: bigint = await photos.insert({ name: "sea" });
  assert.equal(await photos.readBlob(id, "data"), undefined);
  assert.equal(await photos.readBlob(id + 1n, "data"), undefined);
  assert.equal(await photos.writeBlob(id, "data", parts(data), data.length), true);
  assert.equal(await photos.writeBlob(id + 1n, "data", Buffer.from("a")), false);
  const stored = (await photos.get(id))!;
  assert.ok(Buffer.compare(stored.data!, data) === 0);
  assert.equal(stored.version, 1n);
  const blob = (await photos.readBlob(id, "data"))!;
  assert.equal(blob.length, data.length);
  assert.ok(Buffer.compare(await blob.slice(), data) === 0);
  assert.deepEqual([...(await blob.slice(-3))], [...data.slice(-3)]);
  assert.deepEqual([...(await blob.slice(1_048_570, 1_048_580))], [...data.slice(1_048_570, 1_048_580)]);
  assert.equal((await blob.slice(5, 5)).length, 0);
  const read: Uint8Array[] = [];
  for await (const part of blob.stream(7)) read.push(part);
  assert.ok(Buffer.compare(Buffer.concat(read), data.slice(7)) === 0);
  for (const length of [0, data.length - 1, data.length + 1]) {
    await assert.rejects(photos.writeBlob(id, "data", parts(data), length), fails("Misuse"));
  }
  const gone = new Error("the disk is gone");
  for (const length of [10, 600_000]) {
    await assert.rejects(photos.writeBlob(id, "data", parts(data.subarray(0, length), gone), 700_000), gone);
  }
  assert.equal((await photos.get(id))!.version, 1n);
  await assert.rejects(photos.readBlob(id, "name"), fails("Unsupported"));
  await assert.rejects(photos.writeBlob(id, "data", parts(data)), fails("Misuse"));
  await photos.set(id, { name: "land" });
  await assert.rejects(blob.slice(1_200_000), (error) => error instanceof BobakError && error.kind === "Conflict");
});

overEachTransport("plans", async (whole) => {
  const db = whole as unknown as Awaited<ReturnType<typeof connect<{ photo: Photo }>>>;
  await db.create(photo());
  const photos = await db.table("photo");
  let plan = await photos.where(col("version").eq(1)).explain();
  assert.deepEqual(plan.advice.map((one) => [one.table, one.columns]), [["photo", ["version"]]]);
  assert.deepEqual([plan.steps[0]!.table, plan.steps[0]!.access], ["photo", "scan"]);
  plan = await photos.where(col("name").eq("sea")).explain();
  assert.deepEqual([plan.advice, plan.steps[0]!.access], [[], "search"]);
  plan = await db.explain("SELECT id FROM photo AS p WHERE p.version = ?", [1]);
  assert.deepEqual([plan.steps[0]!.table, plan.advice[0]!.columns], ["photo", ["version"]]);
  await assert.rejects(db.explain("SELECT missing FROM photo"), fails("Schema"));
});
