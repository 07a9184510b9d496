// Values of SQL results.
import assert from "node:assert/strict";
import { test } from "node:test";
import { column, connect, Money, table } from "../src/index.js";
import { loadResult } from "../src/values.js";
import { inFolder, unix } from "./serving.js";

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
