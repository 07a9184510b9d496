// Values at the edges of their types, batches that are long and wrong, servers that are killed.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { col, column, connect, Money, table, type Type } from "../src/index.js";
import { load, store } from "../src/values.js";
import { overEachTransport, fails, inFolder, people, person, program, unix, type Person, type Tables } from "./serving.js";

interface Edge {
  id: bigint;
  number: bigint | null;
  money: Money | null;
  text: string | null;
  blob: Uint8Array | null;
}

const edge = table("edge", [
  column("id", "i64"), column("number", "i64", { nullable: true }), column("money", "currency", { nullable: true }),
  column("text", "text", { nullable: true }), column("blob", "bytes", { nullable: true }),
]);
const [least, most] = [-(1n << 63n), (1n << 63n) - 1n];
const of = (id: bigint, number: bigint, money: bigint, text: string, ...blob: number[]): Edge =>
  ({ id, number, money: new Money(money), text, blob: Uint8Array.of(...blob) });
const edges: Edge[] = [
  of(1n, least, least, ""), of(2n, most, most, "\0", 0), of(3n, (1n << 53n) + 1n, 1n, "a\0b", 97, 0, 98, 0),
  of(4n, -(1n << 53n) - 1n, -1n, "\0\0", 0, 255), of(5n, 0n, 0n, "é\u{1f9ab}", 255, 254),
  { id: 6n, number: null, money: null, text: null, blob: null },
];

overEachTransport("values at the edges", async (whole) => {
  const db = whole as unknown as Awaited<ReturnType<typeof connect<{ edge: Edge }>>>;
  await db.create(edge);
  const kept = await db.table("edge");
  for (const one of edges) assert.equal(await kept.insert(one), one.id);
  assert.deepEqual(await kept.where().all(), edges);
  await kept.where().delete();
  assert.equal((await kept.insertMany(edges)).inserted, edges.length);
  assert.deepEqual(await kept.getMany([1, 2, 3, 4, 5, 6]), edges);
  for (const one of edges.slice(0, 5)) {
    // In conditions, as parameters, in results.
    for (const name of ["number", "money", "text", "blob"] as const) {
      assert.deepEqual(await kept.where(col(name).eq(one[name])).all(), [one], name);
    }
    const [found] = await db.sql("SELECT ? AS number, ? AS money, ? AS text, ? AS blob", [one.number, one.money, one.text, one.blob]);
    assert.deepEqual(found, { number: one.number, money: one.money, text: one.text, blob: one.blob });
    assert.ok(await kept.set(one.id, { number: null, money: null, text: null, blob: null }));
    assert.deepEqual(await kept.get(one.id), { ...edges[5], id: one.id });
    await kept.update(one);
  }
  const seen: Edge[] = [];
  for await (const one of kept.where()) seen.push(one);
  assert.deepEqual(seen, edges);
  assert.deepEqual(await db.sql("SELECT id FROM edge WHERE text IS NULL OR blob IS NULL"), [{ id: 6n }]);
  // An object has each name once, and undefined is not NULL.
  await assert.rejects(db.sql("SELECT 1 a, 2 a"), fails("Misuse"));
  await assert.rejects(db.sql("SELECT 1 a, edge.id AS a FROM edge, json_each('[1, 2, 3]')"), fails("Misuse"));
  await assert.rejects(db.sql("SELECT ? AS a", [undefined]), fails("Misuse"));
  await assert.rejects(db.execute("UPDATE edge SET text = ?", [undefined]), fails("Misuse"));
  await assert.rejects(db.executeMany("UPDATE edge SET text = ?", [["a"], [undefined]]), fails("Misuse"));
  assert.deepEqual(await db.sql("SELECT ? AS a, 2 AS b", [null]), [{ a: null, b: 2n }]);
  for (const wrong of [least - 1n, most + 1n]) {
    await assert.rejects(kept.upsert({ id: 6n, number: wrong }), fails("OutOfRange"));
    await assert.rejects(kept.upsert({ id: 6n, money: new Money(wrong) }), fails("OutOfRange"));
  }
  // A number that JavaScript may have rounded is rejected.
  await assert.rejects(kept.upsert({ id: 6n, number: 2 ** 53 as never }), fails("Mismatch"));
});

test("days at the edges of their texts", () => {
  const days: [bigint, Type, string][] = [
    [-719_529n, "date", "-000001-12-31"], [-719_528n, "date", "0000-01-01"], [2_932_896n, "date", "9999-12-31"],
    [2_932_897n, "date", "+010000-01-01"], [-1n, "timestamp", "1969-12-31T23:59:59.999999Z"],
    [951_868_799_999_999n, "datetime", "2000-02-29T23:59:59.999999"], [86_399_999_999n, "time", "23:59:59.999999"],
    [9_007_199_254_740_993n, "timestamp", "2255-06-05T23:47:34.740993Z"],
  ];
  for (const [stored, type, text] of days) assert.equal(load(stored, type), text);
  assert.throws(() => load(1n << 60n, "date"), fails("OutOfRange"));
});

test("a long batch", () => inFolder(async (folder) => {
  const server = await unix(folder);
  const db = await connect<Tables>(`bobak+unix:${server.place}`);
  await db.create(person);
  const kept = await db.table("person");
  const many = people(100_000).map((one, n) => ({ id: BigInt(n + 1), ...one }) as Person);
  const at50000 = (more: object) => Object.assign([...many], { 50_000: { ...many[50_000]!, ...more } });
  const wrong = at50000({ id: 7n });
  await assert.rejects(kept.insertMany(wrong), fails("Duplicate", 50_000));
  assert.equal(await kept.count(), 0);
  const report = await kept.insertMany(wrong, { skipErrors: true });
  assert.deepEqual([report.inserted, report.errors.map((one) => one.row)], [99_999, [50_000]]);
  await kept.where().delete();
  await assert.rejects(kept.insertMany(at50000({ name: 7 })), fails("Mismatch", 50_000));
  assert.equal((await kept.insertMany(many)).inserted, 100_000);
  assert.deepEqual(await kept.where().all(), many);
  await db.close();
  await server.kill();
}));

test("a server killed during a read", () => inFolder(async (folder) => {
  const server = await unix(folder);
  const db = await connect<Tables>(`bobak+unix:${server.place}`);
  await db.create(person);
  const kept = await db.table("person");
  await kept.insertMany(people(100_000));
  let seen = 0;
  const reading = async () => {
    for await (const _ of kept.where()) if (++seen === 1) await server.kill();
  };
  await assert.rejects(reading(), fails("Unreachable"));
  assert.ok(seen > 0 && seen < 100_000);
  await db.close();
}));

test("a child killed during a batch", () => inFolder(async (folder) => {
  const url = `bobak+stdio:sh -c echo%20$$%20>${folder}/pid;%20exec%20"$0"%20"$@" ${program()} serve ${folder}/app.db --stdio`;
  const db = await connect<Tables>(url);
  await db.create(person);
  const kept = await db.table("person");
  async function* untilKilled() {
    yield* people(20_000);
    process.kill(Number(readFileSync(`${folder}/pid`, "utf8")), "SIGKILL");
    yield* people(20_000);
  }
  await assert.rejects(kept.insertMany(untilKilled()), fails("Unknown"));
  // The next child process finds none of the rows.
  assert.equal(await kept.count(), 0);
  await db.close();
}));

test("a child whose output ends before it does", () => inFolder(async (folder) => {
  const script = `exec 4<&0; sh -c 'echo $$ >${folder}/pid; exec "$0" "$@"' "$@" <&4 | sh -c 'echo $$ >${folder}/output; exec cat' & exec >&-; wait`;
  writeFileSync(`${folder}/start`, script);
  const db = await connect<Tables>(`bobak+stdio:sh ${folder}/start ${program()} serve ${folder}/app.db --stdio`);
  await db.create(person);
  const kept = await db.table("person");
  const signal = (of: string, name: NodeJS.Signals) => process.kill(Number(readFileSync(`${folder}/${of}`, "utf8")), name);
  async function* untilOutputEnds() {
    yield* people(20_000);
    signal("pid", "SIGSTOP");
    signal("output", "SIGKILL");
    yield* people(20_000);
  }
  await assert.rejects(kept.insertMany(untilOutputEnds()), fails("Unknown"));
  signal("pid", "SIGKILL");
  await db.close();
}));

test("errors show no password", async () => {
  const urls = ["ada:sec%20ret@localhost:1/x", "ada:sec/ret@localhost/x", "ada:p?sec@localhost", "ada%40sec", "localhost:99999/x", "ada:sec?x=1"];
  for (const url of urls) {
    await assert.rejects(connect(`bobak://${url}`), (error: Error) => {
      assert.doesNotMatch(error.message, /sec/);
      return fails("Config")(error);
    });
  }
});

test("times are of their type, before the year 0, too", () => {
  const days = column("day", "date") as never;
  assert.equal(load(-4_371_587n, "date"), "-009999-01-01");
  assert.equal(store("-009999-01-01", days), -4_371_587n);
  const at = column("at", "timestamp") as never;
  const early = "-000044-03-15T12:00:00.000001Z";
  assert.equal(load(store(early, at), "timestamp"), early);
  for (const wrong of ["-9999-01-01", "-000000-01-01", "-000044-02-30"]) assert.throws(() => store(wrong, days), fails("Mismatch"));
  for (const micros of [-1n, 86_400_000_000n]) assert.throws(() => load(micros, "time"), fails("OutOfRange"));
});

test("a file without certificates is a wrong setting", () => inFolder(async (folder) => {
  for (const file of ["empty.pem", "missing.pem"]) {
    writeFileSync(`${folder}/empty.pem`, "");
    await assert.rejects(connect(`bobak://localhost:1/?tls=on&ca=${folder}/${file}`), fails("Config"));
  }
}));
