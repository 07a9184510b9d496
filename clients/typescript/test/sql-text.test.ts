// SQL texts with parameters by name, and with lists.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bindSql, type SqlParameters } from "../src/sql-text.js";
import { fails, overEachTransport } from "./serving.js";

overEachTransport("parameters have names and lists", async (db) => {
  await db.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)");
  await db.executeMany("INSERT INTO item (id, name) VALUES (:id, :name)", [{ id: 1, name: "pen" }, { id: 2, name: "ink" }, { name: "pad", id: 3 }]);
  const text = "SELECT id FROM item WHERE name IN (:names) OR id = :id OR name = ':id' ORDER BY id";
  assert.deepEqual(await db.sql(text, { names: ["pad", "cup"], id: 1 }), [{ id: 1n }, { id: 3n }]);
  assert.deepEqual(await db.sql(text, { names: [], id: 2 }), [{ id: 2n }]);
  assert.deepEqual(await db.sql("SELECT count(*) AS n FROM item WHERE id NOT IN (?) AND id < ?", [[], 3]), [{ n: 2n }]);
  assert.equal(await db.execute("UPDATE item SET name = :name WHERE id IN (:of)", { name: "x", of: [1, 2] }), 2);
  await assert.rejects(db.sql("SELECT :a", { b: 1 }), fails("Misuse"));
});

test("texts are bound outside of strings and comments", () => {
  const text = "SELECT ':a', \":a\", a::text -- :a\n, :b /* :a */ FROM t WHERE x=:a AND y IN(:b,:a)";
  const bound = bindSql(text, { a: 1, b: 2 });
  assert.equal(bound.text, "SELECT ':a', \":a\", a::text -- :a\n, ? /* :a */ FROM t WHERE x=? AND y IN(?,?)");
  assert.deepEqual(bound.parameters.map(({ value }) => value), [2n, 1n, 2n, 1n]);
  assert.equal(bindSql("a IN (:none) OR b NOT in (:none )", { none: [] }).text, "a IN (NULL) IS TRUE OR b NOT in (NULL ) IS NOT FALSE");
});

test("what does not fit is rejected", () => {
  const wrong: [string, SqlParameters, RegExp][] = [
    ["x = :a AND y = ?", { a: 1 }, /the text has a parameter \?/],
    ["x = :b", { a: 1 }, /the text has no parameter :a/],
    ["x = :a AND y = :b", { a: 1 }, /the parameter :b of the text has no value/],
    ["x = :a", { a: [1] }, /a list of values stands alone/],
    ["x IN (1, :a)", { a: [] }, /a list of values stands alone/],
    ["x IN (?) AND y = ?", [[1]], /the text has 2 parameters, and 1 are given/],
    ["x = '\\' OR y = :a --'", { a: 1 }, /databases differ/],
    ["x = ?", new Date() as never, /parameters are an array/],
    ["x = ?", [undefined], /parameter 1 is undefined/],
  ];
  for (const [text, values, message] of wrong) assert.throws(() => bindSql(text, values), { message });
});
