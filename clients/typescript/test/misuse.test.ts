// Mistakes in queries are errors of the kind Misuse.
import assert from "node:assert/strict";
import { test } from "node:test";
import { and, col, connect, not, or, type Condition } from "../src/index.js";
import { fails, inFolder, people, person, unix, type Tables } from "./serving.js";

test("what is not a condition, a name or a number of rows", () => inFolder(async (folder) => {
  const server = await unix(folder);
  const db = await connect<Tables>(`bobak+unix:${server.place}`);
  try {
    await db.create(person);
    const table = await db.table("person");
    await table.insertMany(people(10));
    const nothing = undefined as unknown as Condition;
    const calls: (() => unknown)[] = [
      () => table.where(nothing).delete(), () => table.where(and(nothing, col("age").gt(1))).all(), () => table.where(or(nothing)).all(),
      () => table.where(not(nothing)).all(), () => table.where("age = 1" as never).all(), () => table.where().orderBy(col("age") as never).all(),
      () => table.where().select([col("age") as never]), () => table.where().select(["age"], [col("age") as never]),
      ...[-5, 1.5, NaN, 2 ** 64, "3" as never].map((rows) => () => table.where().limit(rows).all()),
      () => table.where().limit(5, -1).all(), () => table.where().nearest("age", [1], -1).all(), () => table.where().limit(2).count(),
      () => table.where().limit(0, 2).count(),
    ];
    for (const call of calls) await assert.rejects(async () => call(), fails("Misuse"), String(call));
    assert.equal(await table.count(), 10);
    assert.equal((await table.where().limit(3, 2).all()).length, 3);
  } finally {
    await db.close();
    await server.kill();
  }
}));

test("null in a list equals nothing", () => inFolder(async (folder) => {
  const server = await unix(folder);
  const db = await connect<Tables>(`bobak+unix:${server.place}`);
  try {
    await db.create(person);
    const table = await db.table("person");
    for (const age of [null, 1, 2]) await table.insert({ name: "x", age });
    assert.equal(await table.where(col("age").in([1, null])).count(), 1);
    assert.equal(await table.where(col("age").in([null])).count(), 0);
    assert.equal(await table.where(not(col("age").in([1, null]))).count(), 1);
  } finally {
    await db.close();
    await server.kill();
  }
}));
