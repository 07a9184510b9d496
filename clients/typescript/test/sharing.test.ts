// Calls at the same time in one transaction, calls that wait for themselves, and signals.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";
import { connect, type BobakError } from "../src/index.js";
import { fails, inFolder, overEachTransport, people, person, tcp, token, unix, type Tables } from "./serving.js";

overEachTransport("calls in a transaction take turns", async (db) => {
  await db.create(person);
  const table = await db.table("person");
  await db.transaction(async (transaction) => {
    const inside = table.in(transaction);
    const keys = await Promise.all(people(20).map((one) => inside.insert(one)));
    assert.deepEqual(keys, Array.from({ length: 20 }, (_, number) => BigInt(number + 1)));
  });
  assert.equal(await table.count(), 20);
  // The first failure rolls back what the others do.
  await assert.rejects(db.transaction(async (transaction) => {
    const inside = table.in(transaction);
    await Promise.all([inside.delete(1), inside.delete([1, 2]), inside.delete(2), transaction.sql("SELECT")]);
  }), fails("Misuse"));
  await assert.rejects(db.transaction((transaction) => Promise.all([
    transaction.execute("DELETE FROM person WHERE id = 3"), transaction.sql("SELECT nowhere"), transaction.execute("DELETE FROM person WHERE id = 4"),
  ])), fails("Schema"));
  assert.equal(await table.count(), 20);
});

overEachTransport("a call that would wait for itself is rejected at once", async (db) => {
  await db.create(person);
  const table = await db.table("person");
  await db.transaction(async (transaction) => {
    const inside = table.in(transaction);
    const rows = async function* () {
      for (const one of people(3)) yield { ...one, age: await inside.count() };
    };
    await assert.rejects(inside.insertMany(rows()), fails("Misuse"));
    assert.equal(await inside.count(), 0);
  });
});

test("a forgotten transaction over one connection", () => inFolder(async (folder) => {
  const server = await unix(folder);
  const db = await connect<Tables>(`bobak+unix:${server.place}?connections=1`);
  try {
    await db.create(person);
    const table = await db.table("person");
    await assert.rejects(db.transaction(() => table.insert({ name: "Ada" })), (error: BobakError) => {
      assert.match(error.message, /table\.in\(transaction\)/);
      return fails("Busy")(error);
    });
    const others = async function* () {
      yield { name: String(await table.count()) };
    };
    await assert.rejects(table.insertMany(others()), fails("Busy"));
    // Another caller waits, and what continues after a transaction waits for nothing.
    let after: Promise<number> | undefined;
    const waits = [db.transaction(async (transaction) => {
      await table.in(transaction).insert({ name: "Ada" });
      after = new Promise<void>((resolve) => setTimeout(resolve, 50)).then(() => table.count());
    }), table.count()];
    await Promise.all(waits);
    assert.equal(await after, 1);
  } finally {
    await db.close();
    await server.kill();
  }
}));

const isAbort = (error: unknown) => (error as Error).name === "TimeoutError" || (error as Error).name === "AbortError";
const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) AS n FROM c";

test("a signal ends the wait for a connection", () => inFolder(async (folder) => {
  const server = await unix(folder);
  const db = await connect(`bobak+unix:${server.place}?connections=1`);
  try {
    const controller = new AbortController();
    const first = db.sql(endless, [], { signal: controller.signal });
    await assert.rejects(db.sql("SELECT 1 AS n", [], { signal: AbortSignal.timeout(50) }), isAbort);
    controller.abort();
    await assert.rejects(first, isAbort);
    assert.deepEqual(await db.sql("SELECT 1 AS n"), [{ n: 1n }]);
  } finally {
    await db.close();
    await server.kill();
  }
}));

test("a signal for each call", () => inFolder(async (folder) => {
  const server = await unix(folder);
  const db = await connect<Tables>(`bobak+unix:${server.place}?connections=2`);
  try {
    await db.create(person);
    const table = await db.table("person");
    await table.insertMany(people(100));
    const now = table.in(db.withSignal(new AbortController().signal));
    assert.equal(await now.count(), 100);
    const late = db.withSignal(AbortSignal.abort());
    const never = table.in(late);
    const calls = [
      () => never.get(1), () => never.getMany([1]), () => never.insert({ name: "x" }), () => never.update({ id: 1n, name: "x" }), () => never.delete(1),
      () => never.set(1, { name: "x" }), () => never.count(), () => never.where().first(), () => never.where().select(["id"]),
      () => never.where().page(2), () => never.insertMany(people(2)), () => never.deleteMany([1]), () => late.sql("SELECT 1 AS n"),
      () => late.execute("DELETE FROM person"), () => late.executeMany("DELETE FROM person WHERE id = ?", [[1]]), () => late.table("note"),
      () => db.transaction(async () => undefined, { signal: AbortSignal.abort() }), () => never.where().all(),
      async () => {
        for await (const one of never.where()) assert.fail(String(one));
      },
    ];
    for (const call of calls) await assert.rejects(call, isAbort, String(call));
    await assert.rejects(connect(`bobak+unix:${server.place}`, { signal: AbortSignal.abort() }), isAbort);
    // In a transaction the signal ends the call that runs, and nothing is committed.
    const limit = AbortSignal.timeout(50);
    await assert.rejects(db.transaction(async (transaction) => {
      await table.in(transaction).delete(1);
      await transaction.sql(endless);
    }, { signal: limit }), isAbort);
    assert.equal(await table.count(), 100);
  } finally {
    await db.close();
    await server.kill();
  }
}));

/** Waits until all threads of a process have stopped. */
async function isStopped(pid: number): Promise<void> {
  const status = `/proc/${pid}/stat`;
  do await new Promise((resolve) => setTimeout(resolve, 50));
  while (existsSync(status) && !/\) T/.test(readFileSync(status, "latin1")));
}

test("a signal does not wait for a server that does not answer", () => inFolder(async (folder) => {
  const server = await unix(folder);
  const db = await connect<Tables>(`bobak+unix:${server.place}`);
  try {
    await db.create(person);
    const table = await db.table("person");
    await table.insertMany(people(100));
    const many = people(200_000);
    // There is a connection for each call.
    await Promise.all([1, 2, 3, 4].map(() => table.count()));
    server.child.kill("SIGSTOP");
    await isStopped(server.child.pid!);
    const stopped = table.in(db.withSignal(AbortSignal.timeout(1_000)));
    const unknown = (error: BobakError) => isAbort(error.cause) && fails("Unknown")(error);
    await Promise.all([
      assert.rejects(table.where().all({ signal: AbortSignal.timeout(100) }), isAbort),
      assert.rejects(stopped.get(1), isAbort),
      assert.rejects(stopped.insertMany(many), unknown),
      assert.rejects(stopped.insert({ name: "x" }), unknown),
    ]);
    server.child.kill("SIGCONT");
    assert.ok(await table.count() >= 100);
  } finally {
    server.child.kill("SIGCONT");
    await db.close();
    await server.kill();
  }
}));

test("what the console shows has no credentials", () => inFolder(async (folder) => {
  const server = await tcp(folder);
  const db = await connect<Tables>(`bobak://${server.place}/main?token=${token}`);
  try {
    await db.create(person);
    const table = await db.table("person");
    await db.transaction(async (transaction) => {
      for (const shown of [db, transaction, table.in(transaction), table.where(), db.withSignal(new AbortController().signal)]) {
        assert.ok(!inspect(shown, { depth: 10, showHidden: true }).includes(token));
      }
    });
  } finally {
    await db.close();
    await server.kill();
  }
}));
