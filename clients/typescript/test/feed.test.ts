// Changes of tracked tables: pages, following, and the history of one record.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Money, type Change } from "../src/index.js";
import { overEachTransport, fails, note, person, square, type Person } from "./serving.js";

const shown = (changes: Change<Person>[]) =>
  changes.map(({ id, kind, before, after }) => `${id} ${kind} ${before?.name ?? "-"} ${after?.name ?? "-"}`);

overEachTransport("changes", async (db) => {
  await db.create(person, square, note);
  await assert.rejects(db.changes(), fails("Schema"));
  await db.track("person");
  await db.track("square");
  await assert.rejects(db.changes(["note"]), fails("Schema"));
  await assert.rejects(db.changes(["nobody" as "note"]), fails("Schema"));
  assert.equal(await db.lastChange(), 0);
  const [people, squares] = [await db.table("person"), await db.table("square")];
  await people.insert({ name: "Ada\0", balance: new Money(1n) });
  await squares.insert({ row: 1, letter: "A" });
  await db.execute("UPDATE person SET name = 'Bea'");
  await people.delete(1n);

  const page = await db.changes(["person"]);
  assert.deepEqual(shown(page.changes), ["1 insert - Ada\0", "3 update Ada\0 Bea", "4 delete Bea -"]);
  const [first, second] = page.changes;
  assert.deepEqual(first!.after, { id: 1n, name: "Ada\0", age: null, balance: new Money(1n) });
  assert.deepEqual([first!.table, first!.actor, first!.before], ["person", null, null]);
  assert.ok(/^\d{4}-.*Z$/.test(first!.at) && first!.at <= second!.at);
  assert.equal(page.next, 4);
  assert.deepEqual(await db.changes(["person"], { since: 4 }), { changes: [], next: 4 });

  const some = await db.changes([], { limit: 3 });
  assert.deepEqual([some.changes.map((change) => change.id), some.next], [[1, 2, 3], 3]);
  assert.deepEqual(some.changes[1]!.after, { row: 1, letter: "A" });
  assert.equal((await db.changes([], { since: some.next })).changes.length, 1);
  await db.execute("DELETE FROM bobak_log_person WHERE seq <= 3");
  await db.execute("UPDATE bobak_tracked SET pruned = 3 WHERE name = 'person'");
  await assert.rejects(db.changes(["person"], { since: 2 }), fails("NotFound"));
  assert.deepEqual(shown((await db.changes(["person"], { since: 3 })).changes), ["4 delete Bea -"]);
});

overEachTransport("history", async (db) => {
  await db.create(person, square);
  const [people, squares] = [await db.table("person"), await db.table("square")];
  await assert.rejects(people.history(1n), fails("Schema"));
  await db.track("person", { history: true });
  await db.track("square");
  await people.insertMany([{ name: "Ada" }, { name: "Bea" }]);
  await people.set(1n, { name: "Eve" });
  assert.deepEqual(shown(await people.history(1n)), ["1 insert - Ada", "3 update Ada Eve"]);
  assert.deepEqual(await people.history(7n), []);
  await squares.insertMany([{ row: 1, letter: "A" }, { row: 1, letter: "B" }]);
  assert.deepEqual((await squares.history([1, "B"])).map((change) => change.after), [{ row: 1, letter: "B" }]);
});

overEachTransport("following", async (db) => {
  await db.create(person);
  await db.track("person");
  const people = await db.table("person");
  const write = async () => {
    for (let n = 0; n < 50; n++) await people.insert({ name: String(n) });
  };
  const writing = write();
  const seen: string[] = [];
  for await (const change of db.follow(["person"], { since: 0 })) {
    seen.push(change.after!.name);
    if (seen.length === 50) break;
  }
  await writing;
  assert.deepEqual(seen, Array.from({ length: 50 }, (_, n) => String(n)));
  // From now on, until it is aborted.
  const control = new AbortController();
  const following = db.follow(["person"], { signal: control.signal });
  const next = following.next();
  setTimeout(() => control.abort(new Error("enough")), 20);
  await assert.rejects(next, /enough/);
  assert.equal(await people.count(), 50);
});

test("the type of a change's kind", () => {
  const kinds: Change<Person>["kind"][] = ["insert", "update", "delete"];
  assert.equal(kinds.length, 3);
});
