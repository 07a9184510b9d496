// Records whose deleted rows stay.
import assert from "node:assert/strict";
import { col, column, connect, table } from "../src/index.js";
import { fails, overEachTransport } from "./serving.js";

interface Note {
  id: bigint;
  text: string;
  deleted_at: Date | null;
}

overEachTransport("deleted rows", async (whole) => {
  const db = whole as unknown as Awaited<ReturnType<typeof connect<{ note: Note }>>>;
  await db.create(table("note", [column("id", "i64"), column("text", "text"), column("deleted_at", "timestamp", { nullable: true })]));
  const notes = await db.table("note");
  const [old, recent] = [new Date("2020-01-02T00:00:00Z"), new Date("2026-01-02T00:00:00Z")];
  await notes.insertMany([
    { id: 1n, text: "milk", deleted_at: null },
    { id: 2n, text: "tea", deleted_at: old },
    { id: 3n, text: "rice", deleted_at: recent },
  ]);
  const [both, deleted] = [notes.where().withDeleted("deleted_at"), notes.where().onlyDeleted("deleted_at")];
  assert.deepEqual([await both.count(), await deleted.count()], [3, 2]);
  assert.equal(await notes.where().purge("deleted_at", recent), 1);
  assert.equal(await notes.where(col("text").eq("rice")).restore("deleted_at"), 1);
  assert.equal(await notes.where().restore("deleted_at"), 0);
  assert.deepEqual([await both.count(), await deleted.count()], [2, 0]);
  await assert.rejects(notes.where().limit(1).restore("deleted_at"), fails("Misuse"));
  await assert.rejects(notes.where().onlyDeleted("gone" as "id").all(), fails("Schema"));
});
