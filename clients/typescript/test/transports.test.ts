// Tables, queries, SQL, transactions, batches and failures, against a real server over every transport.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { add, and, avg, col, column, connect, count, max, Money, newUuid, not, or, sum, table, type Table } from "../src/index.js";
import { load, store } from "../src/values.js";
import {
  overEachTransport, fails, here, inFolder, note, people, person, program, serve, square, shell, tcp, token, unix, type Db, type Person, type Tables,
} from "./serving.js";

overEachTransport("everything", async (db) => {
  await db.create(person, note, square);
  await records(db);
  await queries(db);
  await transactions(db);
  await batches(db);
  await cancelled(db);
});

async function records(db: Db): Promise<void> {
  const people = await db.table("person");
  assert.equal(await people.insert({ name: "Ada \0", age: 36, balance: Money.parse("19.99") }), 1n);
  const ada = await people.get(1n);
  assert.deepEqual(ada, { id: 1n, name: "Ada \0", age: 36, balance: new Money(199_900n) });
  assert.equal(await people.get(2), undefined);
  assert.equal(await people.insertOrIgnore(ada!), undefined);
  await people.upsert({ ...ada!, age: null });
  await people.update({ ...ada!, name: "other", age: 7 }, "age");
  assert.ok(await people.set(1, { balance: add("0.01") as never, name: "Ä" }));
  assert.equal(String((await people.get(1))!.balance), "20.00");
  await people.insertOrReplace(ada!);
  assert.ok(await people.delete(1));
  assert.ok(!(await people.delete(1)));
  await assert.rejects(people.update(ada!), fails("NotFound"));
  await assert.rejects(people.insert({ name: "x".repeat(41) }), fails("TooLong"));
  await assert.rejects(people.insert({ name: "\ud800" }), fails("Mismatch"));
  await assert.rejects(people.insert({ name: 7 as never }), fails("Mismatch"));
  await assert.rejects(people.insert({ id: 1n << 64n, name: "" }), fails("OutOfRange"));
  const notes = await db.table("note");
  const id = await notes.insert({ text: "a" });
  const made = (await notes.get(id))!;
  assert.match(made.made, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  await notes.update({ ...made, text: "b" });
  await assert.rejects(notes.update({ ...made, text: "c" }), fails("Conflict"));
  assert.equal((await notes.get(id))!.version, 1n);
  const squares = await db.table("square");
  assert.deepEqual(await squares.insert({ row: 3, letter: "C" }), [3, "C"]);
  assert.ok(await squares.get([3, "C"]));
  await assert.rejects(squares.get(3), fails("Misuse"));
  await assert.rejects((db as any).table("nothing"), fails("Schema"));
}

overEachTransport("values that cannot be sent", async (db) => {
  const it = table("thing", [
    column("id", "i64"), column("real", "f64", { default: 0.5 }), column("ok", "bool", { default: false }),
    column("price", "currency", { default: Money.parse("1.50") }), column("day", "date", { default: "2024-02-29" }),
    column("at", "timestamp", { nullable: true }), column("doc", "json", { nullable: true }), column("text", "text", { nullable: true }),
  ]);
  await db.create(it);
  const things = (await (db as any).table("thing")) as Table<any>;
  await things.insert({});
  assert.deepEqual(await things.get(1), {
    id: 1n, real: 0.5, ok: false, price: Money.parse("1.50"), day: "2024-02-29", at: null, doc: null, text: null,
  });
  const wrong: [string, unknown, string][] = [
    ["real", NaN, "OutOfRange"], ["text", "\ud800", "Mismatch"], ["id", 1n << 63n, "OutOfRange"], ["day", new Date(), "Mismatch"],
    ["at", new Date("x"), "Mismatch"], ["doc", "{", "Mismatch"], ["doc", { a: 1 }, "Mismatch"], ["price", "1.00001", "Mismatch"],
  ];
  for (const [name, value, kind] of wrong) {
    const where = (row?: number) => (error: unknown) => {
      const shown = `(table thing, column ${name}${row === undefined ? "" : `, row ${row}`})`;
      return fails(kind, row)(error) && (error as Error).message.endsWith(shown) && String(error).endsWith(shown);
    };
    await assert.rejects(things.insert({ [name]: value }), where());
    await assert.rejects(things.insertMany([{}, { [name]: value }]), where(1));
    if (name !== "id") await assert.rejects(things.update({ id: 1n, [name]: value }), where());
  }
  for (const record of [null, "x", 5]) await assert.rejects(async () => things.insert(record as never), fails("Mismatch"));
  for (const parameters of [{ b: 1 }, "x", new Set([1])]) {
    await assert.rejects(async () => db.sql("SELECT :a", parameters as never), fails("Misuse"));
    await assert.rejects(async () => db.executeMany("SELECT :a", [parameters] as never), fails("Misuse"));
  }
  await assert.rejects(async () => db.sql("SELECT ?", [new Date("x")]), fails("Mismatch"));
  assert.equal(await things.count(), 1);
  assert.throws(() => column("a", "string" as never), fails("Schema"));
  assert.throws(() => column("a", "currency", { default: 0n }), fails("Mismatch"));
});

interface Own {
  member: { id: bigint; email: string; name: string };
  badge: { id: string; code: string };
}

overEachTransport("upserts on unique columns", async (db) => {
  await db.create(
    table("member", [column("id", "i64"), column("email", "text", { unique: true }), column("name", "text")]),
    table("badge", [column("id", "uuid"), column("code", "text", { unique: true })]),
  );
  const own = db as unknown as Awaited<ReturnType<typeof connect<Own>>>;
  const members = await own.table("member");
  assert.equal(await members.upsertOn({ email: "a", name: "Ada" }, "email"), 1n);
  const eve = { id: 70n, email: "a", name: "Eve" };
  assert.equal(await members.upsertOn(eve, "email"), 1n);
  assert.deepEqual(await members.where().all(), [{ id: 1n, email: "a", name: "Eve" }]);
  assert.equal(eve.id, 1n);
  await assert.rejects(members.upsertOn(eve, "name"), fails("Schema"));
  const report = await members.insertMany([{ email: "b", name: "Bob" }, { email: "a", name: "Una" }], { upsertOn: ["email"] });
  assert.deepEqual([report.inserted, report.changed], [1, 1]);
  assert.deepEqual((await members.where().all()).map((one) => one.name), ["Una", "Bob"]);
  const badges = await own.table("badge");
  const key = await badges.upsertOn({ code: "x" }, "code");
  assert.equal(await badges.upsertOn({ code: "x" }, "code"), key);
});

for (const main of ["new.db", "memory:"]) {
  test(`SQL over attached databases with ${main}`, () => inFolder(async (folder) => {
    const stock = await unix(folder);
    const other = await connect<Tables>(`bobak+unix:${stock.place}`);
    await other.create(person);
    await (await other.table("person")).insert({ name: "spade" });
    await other.close();
    await stock.kill();
    const server = await serve(folder, `main=${main}`, "--attach", "stock=app.db", "--unix", join(folder, "other"));
    const db = await connect<Tables>(`bobak+unix:${server.place}`);
    await db.create(person);
    await (await db.table("person")).insert({ name: "Ada" });
    const joined = "SELECT p.name AS name, s.name AS other FROM person p JOIN stock.person s ON s.id = p.id";
    assert.deepEqual(await db.sql(joined), [{ name: "Ada", other: "spade" }]);
    await db.close();
    await server.kill();
  }));
}

/** undefined counts as missing; a missing key is generated, and 0 is an ordinary key. */
overEachTransport("missing values", async (db) => {
  await db.create(person, note);
  const kept = await db.table("person");
  assert.equal(await kept.insert({ id: 0n, name: "a", age: 7 }), 0n);
  assert.equal(await kept.upsert({ ...(await kept.get(0))!, name: "b" }), 0n);
  assert.deepEqual((await kept.where().all()).map((one) => [one.id, one.name]), [[0n, "b"]]);
  assert.equal(await kept.upsert({ name: "c" }), 1n);
  assert.equal(await kept.insert({ id: undefined as never, name: "d", age: undefined as never }), 2n);
  assert.equal(await kept.insert({ id: null as never, name: "e" }), 3n);
  await kept.insertMany([{ id: 0n, name: "f" }, { name: "g" }], { upsert: true });
  assert.deepEqual((await kept.where().all()).map((one) => one.name), ["f", "c", "d", "e", "g"]);

  const untouched = { id: 0n, name: "h", age: 7, balance: new Money(5n) };
  await kept.update({ ...untouched });
  assert.ok(await kept.set(0, { age: undefined, name: "i" }));
  assert.ok(await kept.set(0, { age: undefined }));
  assert.ok(!(await kept.set(9, { age: undefined })));
  assert.equal(await kept.where(col("id").eq(0)).update({ age: undefined }), 1);
  await kept.update({ id: 0n, balance: undefined as never });
  assert.deepEqual(await kept.get(0), { ...untouched, name: "i" });
  await kept.update({ id: 0n, age: null });
  const rows = [{ id: 0n, name: "j" }, { id: 1n, age: 9, name: undefined as never }, { id: 2n, age: 9 }, { id: 0n, age: 8 }];
  assert.equal((await kept.updateMany(rows)).changed, 4);
  assert.deepEqual(await kept.get(0), { ...untouched, name: "j", age: 8 });
  assert.deepEqual((await kept.getMany([1, 2])).map((one) => [one!.name, one!.age]), [["c", 9], ["d", 9]]);
  await assert.rejects(kept.updateMany([...rows, { id: 0n, nothing: 1 } as never]), fails("Schema", 4));
  await assert.rejects(kept.update({ id: 9n, name: "" }), fails("NotFound"));

  const notes = await db.table("note");
  const id = await notes.insert({ text: "a" });
  const made = (await notes.get(id))!;
  await notes.update({ id, version: 0n, text: "b" });
  const later = (await notes.get(id))!;
  assert.deepEqual([later.text, later.version, later.made], ["b", 1n, made.made]);
  // Both may be of one millisecond.
  assert.ok(later.changed >= made.changed);
  // Without the version that was read, a concurrent change cannot be excluded.
  await assert.rejects(notes.update({ id, text: "c" }), fails("Conflict"));
});

/** Writes set in the record what they set in the row. */
overEachTransport("current records", async (db) => {
  await db.create(person, note, square);
  const notes = await db.table("note");
  const one: Partial<Tables["note"]> = { text: "a" };
  assert.equal(await notes.insert(one), one.id);
  assert.deepEqual(await notes.get(one.id), { ...(await notes.get(one.id))!, ...one });
  assert.deepEqual(Object.keys(one).sort(), ["changed", "id", "made", "text", "version"]);
  const stale = { ...one };
  for (const text of ["b", "c"]) {
    one.text = text;
    await notes.update(one);
    assert.deepEqual(await notes.get(one.id), one);
  }
  await notes.update(one, "text");
  assert.deepEqual([await notes.get(one.id), one.version], [one, 3n]);
  await assert.rejects(notes.update(stale), fails("Conflict"));
  const before = { ...one };
  assert.equal(await notes.insertOrIgnore(one), undefined);
  assert.deepEqual(one, before);
  await notes.insertOrReplace(one);
  assert.deepEqual(await notes.get(one.id), one);
  await notes.upsert(one);
  assert.equal((await notes.get(one.id))!.changed, one.changed);
  const written = { TEXT: "d" } as Partial<Tables["note"]>;
  await notes.upsert(written);
  assert.equal((await notes.get(written.id))!.text, "d");
  const frozen = Object.freeze({ name: "e" });
  const people = await db.table("person");
  assert.equal(await people.insert(frozen), 1n);
  assert.deepEqual(frozen, { name: "e" });
  const named: Partial<Person> = { name: "f" };
  await people.insert(named);
  assert.equal(named.id, 2n);

  await assert.rejects(notes.deleteRecord(stale), fails("Conflict"));
  one.version = (await notes.get(one.id))!.version;
  await notes.deleteRecord(one);
  await assert.rejects(notes.deleteRecord(one), fails("NotFound"));
  const squares = await db.table("square");
  const corner = { row: 1, letter: "A" };
  await squares.insert(corner);
  await squares.deleteRecord(corner);
  await assert.rejects(squares.deleteRecord(corner), fails("NotFound"));
});

test("options of columns", () => {
  const airline = table("airline", [column("code", "text", { key: true, max: 3, collation: "nocase" })]);
  const flight = table("flight", [
    column("id", "uuid", { key: "given", store: "text" }), column("airline", "text", { references: airline, onDelete: "cascade", index: true }),
    column("plane", "i64", { references: "plane(id)", onDelete: "set_null", nullable: true }), column("day", "date", { check: "day > 0", unique: true }),
  ], [{ name: "by_day", columns: ["day", "plane"], unique: true }]);
  assert.deepEqual([airline.key, airline.keysBy, airline.columns[0]!.maxChars, airline.columns[0]!.collation], [[0], 2, 3, 1]);
  assert.deepEqual([flight.key, flight.keysBy, flight.columns[0]!.asText], [[0], 2, true]);
  assert.deepEqual(flight.columns.map((one) => one.references), [
    null, { table: "airline", column: "code", onDelete: 1 }, { table: "plane", column: "id", onDelete: 2 }, null,
  ]);
  assert.deepEqual(flight.indexes, [
    { name: "flight_airline", unique: false, columns: [1] }, { name: "by_day", unique: true, columns: [3, 2] },
  ]);
  const wrong: [object, RegExp][] = [
    ...["plane", "plane.id", "(id)", "plane(", 7, null, {}, { table: "plane", column: "id" }, ["plane", "id"]].map(
      (references) => [{ references }, /write references: airline, which is a table, or references: "airline\(code\)"/] as [object, RegExp]),
    [{ references: square }, /a key of several columns/], [{ references: "a(b)", onDelete: "nothing" }, /onDelete is one of restrict/],
    [{ onDelete: "cascade" }, /onDelete needs references/], [{ references: "a(b)", onDelete: "set_null" }, /needs nullable: true/],
    [{ role: "version" }, /'role' is not an option of a column; the options are key/], [{ key: "x" }, /key is true or "given"/],
    [{ max: "9" }, /max is a number of characters, not 9/], [{ max: 0.5 }, /max is a number of characters, not 0.5/],
    [{ collation: "x" }, /collation is one of binary/], [{ store: "x" }, /store is one of text/],
  ];
  for (const [options, pattern] of wrong) {
    const failing = (error: unknown) => fails("Schema")(error) && pattern.test(String(error)) && /\(column plane\)$/.test(String(error));
    assert.throws(() => column("plane", "i64", options as never), failing, JSON.stringify(options));
  }
  assert.throws(() => table("t", [column("a", "i64")]), fails("Schema"));
});

async function queries(db: Db): Promise<void> {
  const table = await db.table("person");
  assert.equal((await table.insertMany(people(1_000))).inserted, 1_000);
  const old = table.where(col("age").gt(80));
  assert.equal(await old.count(), 99);
  const oldest = await old.orderBy("-age", "name").limit(2).all();
  assert.deepEqual(oldest.map((one) => one.age), [89, 89]);
  const either = or(col("name").eq("P 7"), and(col("name").like("P 99_"), not(col("age").isNull())));
  assert.equal(await table.where(either).count(), 10);
  assert.equal(await table.where(col("age").in([1, 2])).count(), 24);
  const groups = await table.where(col("age").lt(3)).select(["age", count(), max("balance"), avg("balance")], ["age"]);
  assert.equal(String(groups), "1,12,9.91,4.96,2,12,9.92,4.97");
  assert.deepEqual(await table.where(col("age").gt(500)).select([sum("balance")]), [[null]]);
  assert.equal(await table.where(col("age").eq(1)).update({ age: add(1) as never }), 12);
  assert.equal(await table.where(col("age").eq(2)).delete(), 24);
  await assert.rejects(table.where(col("nothing").eq(1)).all(), fails("Schema"));
  await assert.rejects(old.limit(1).delete(), fails("Misuse"));
  const many = await db.executeMany("INSERT INTO square VALUES (?, ?)", Array.from({ length: 600 }, (_, n) => [n + 10, "A"]));
  assert.equal(many, 600);
  for (let n = 0; n < 3; n++) assert.deepEqual(await db.sql("SELECT count(*) AS n FROM square WHERE row < ?", [20]), [{ n: 11n }]);
  await assert.rejects(db.executeMany("INSERT INTO square VALUES (?, 'B')", [[1], [1], [2]]), fails("Duplicate", 1));
  await assert.rejects(db.execute("SELEC 1"), fails("Syntax"));
  assert.equal(await db.execute("DELETE FROM square"), 601);
  await table.where().delete();
}

async function transactions(db: Db): Promise<void> {
  const table = await db.table("person");
  const failed = new Error("failed");
  await db.transaction(async (transaction) => {
    const inside = table.in(transaction);
    await inside.insert({ name: "a" });
    await assert.rejects(transaction.savepoint("s", async () => {
      await inside.insert({ name: "b" });
      throw failed;
    }), failed);
    await inside.insertMany(people(10));
    for await (const one of inside.where()) await inside.set(one.id, { age: 5 });
  });
  await assert.rejects(db.transaction(async (transaction) => {
    await table.in(transaction).where().delete();
    throw failed;
  }), failed);
  assert.equal(await table.where(col("age").eq(5)).count(), 11);
  await table.where().delete();
}

async function batches(db: Db): Promise<void> {
  const table = await db.table("person");
  assert.equal((await table.insertMany(people(30_000))).inserted, 30_000);
  let seen = 0;
  for await (const one of table.where()) seen += one.name ? 1 : 0;
  assert.equal(seen, 30_000);
  for await (const one of table.where().orderBy("id")) {
    assert.equal(one.name, "P 0");
    break;
  }
  await assert.rejects(table.insertMany([...people(30_000), { name: "x".repeat(41) }]), fails("TooLong", 30_000));
  async function* interrupted() {
    yield* people(30_000);
    throw new RangeError("interrupted");
  }
  await assert.rejects(table.insertMany(interrupted()), RangeError);
  const squares = await db.table("square");
  const report = await squares.insertMany([{ row: 1, letter: "A" }, { row: 1, letter: "A" }], { skipErrors: true });
  assert.deepEqual([report.inserted, report.errors[0]!.row, report.errors[0]!.kind], [1, 1, "Duplicate"]);
  assert.equal(await table.count(), 30_000);
}

async function cancelled(db: Db): Promise<void> {
  const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c";
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 50);
  await assert.rejects(db.sql(`${endless} WHERE x % 1000 = 0`, [], { signal: controller.signal }), { name: "AbortError" });
  await db.ping();
  assert.equal(await (await db.table("person")).count(), 30_000);
}

test("a 32-bit column takes the nearest float", () => {
  const it = column("c", "f32");
  assert.equal(store(0.1, it), Math.fround(0.1));
  assert.equal(store(-Infinity, it), -Infinity);
  for (const value of [1e300, 1e-60]) assert.throws(() => store(value, it), fails("OutOfRange"));
});

test("types of the vectors", () => {
  for (const vector of JSON.parse(readFileSync(join(here, "../../vectors/types.json"), "utf8"))) {
    const it = column("c", vector.type);
    if (vector.stored === null) {
      assert.throws(() => store(vector.text, it), fails(vector.text.includes("5477.5808") ? "OutOfRange" : "Mismatch"));
      continue;
    }
    const { int, hex } = vector.stored;
    const stored = hex ? Uint8Array.from(Buffer.from(hex, "hex")) : BigInt(int ?? vector.stored);
    assert.deepEqual(store(vector.text, it), stored, vector.text);
    assert.equal(String(load(stored, vector.type)), vector.text);
    if (vector.type !== "currency") assert.equal(store(vector.text, { ...it, asText: true }), vector.text);
  }
  assert.ok(newUuid() < newUuid());
});

test("unknown clients, and wrong URLs", () => inFolder(async (folder) => {
  const server = await tcp(folder);
  const base = `bobak://${server.place}`;
  for (const rest of ["/", "/main?token=0123456789abcdeF", "/main?user=a&password=b"]) await assert.rejects(connect(base + rest), fails("Denied"));
  await assert.rejects(connect(`${base}/other?token=${token}`), fails("Config"));
  await server.kill();
  for (const url of ["app.db", "bobak:", "bobak+unix:", "bobak+stdio: ", "bobak://h?tls=x", "bobak://h?user=x", "bobak://h?x=1",
    'bobak+stdio:true "app.db"', "bobak+stdio:'true' x"]) {
    await assert.rejects(connect(url), fails("Config"));
  }
  for (const url of ["bobak+unix:/nowhere/at/all", "bobak+stdio:/nowhere/at/all", "bobak+stdio:true", "bobak://127.0.0.1:1/"]) {
    await assert.rejects(connect(url), fails("Unreachable"));
  }
}));

test("the error has the reason of an ended child", () => inFolder(async (folder) => {
  const why = async (url: string) => {
    const error = await connect(url).then(() => undefined, (error) => error);
    fails("Unreachable")(error);
    return String(error);
  };
  const serve = (words: string) => `bobak+stdio:${program()} serve ${words}`;
  assert.match(await why(serve(`${folder}/none/x.db --stdio`)), /bobak ended \(exit status 1\), and said: bobak: could not open .*none\/x\.db/);
  assert.match(await why(shell("kill -9 $$")), /: sh ended \(signal SIGKILL\)$/);
  assert.match(await why(shell("echo hm; echo hm >&2; exit 3")), /: sh ended \(exit status 3\), and said: hm$/);
  // The process continues; the client waits only a moment.
  assert.match(await why(shell("exec >&-; echo hm >&2; read x")), /: sh closed its output, and said: hm$/);
  const long = await why(shell("i=0; while [ $i -lt 2000 ]; do echo 'line' $i >&2; i=$((i+1)); done; printf '\\033[1mlast' >&2; exit 3"));
  assert.match(long, /line 1999 \| \[1mlast$/);
  assert.ok(!long.includes("line 1900") && long.length < 1_000, long);

  const url = shell(`echo $$ >${folder}/pid; exec ${program()} serve ${folder}/app.db --stdio`);
  const db = await connect<Tables>(url);
  await db.create(person);
  const work = db.transaction(async (transaction) => {
    process.kill(Number(readFileSync(`${folder}/pid`, "utf8")), "SIGKILL");
    await (await transaction.table("person")).insert({ name: "lost" });
  });
  await assert.rejects(work, /sh ended \(signal SIGKILL\); the transaction was rolled back/);
  assert.equal(await (await db.table("person")).count(), 0);
  await db.close();
}));

test("TLS", () => inFolder(async (folder) => {
  const make = "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost " +
    "-addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE";
  try {
    execFileSync("openssl", make.split(" "), { cwd: folder, stdio: "ignore" });
  } catch (error) {
    throw new Error(`openssl, which makes the certificate, is missing: ${error}`);
  }
  const server = await tcp(folder, "--tls-cert", "cert.pem", "--tls-key", "key.pem");
  const url = `bobak://localhost:${server.place.split(":").at(-1)}/?token=${token}&tls=on`;
  await assert.rejects(connect(url), fails("Unreachable"));
  await assert.rejects(connect(url.replace("&tls=on", "")), (error) => fails("Config")(error) && /speaks TLS: add tls=on/.test(String(error)));
  const plain = await tcp(folder);
  const other = `bobak://${plain.place}/?token=${token}&tls=on`;
  await assert.rejects(connect(other), (error) => fails("Config")(error) && /does not speak TLS: remove tls=on/.test(String(error)));
  await plain.kill();
  await assert.rejects(connect(`${url}&ca=${folder}/none.pem`), fails("Config"));
  const db = await connect<Tables>(`${url}&ca=${folder}/cert.pem`);
  await db.create(person);
  const table = await db.table("person");
  await table.insertMany(people(20_000));
  assert.equal((await table.where().all()).length, 20_000);
  await db.close();
  await server.kill();
}));

test("changes are recorded", () => inFolder(async (folder) => {
  const db = await connect<Tables>(`bobak+stdio:${program()} serve ${folder}/app.db --stdio`);
  await db.create(person);
  await db.track("Person", { history: true });
  const table = await db.table("person");
  const key = await table.insert({ name: "Ada" });
  await table.delete(key!);
  const log = await db.sql("SELECT verb, new_name FROM bobak_log_person ORDER BY seq");
  assert.deepEqual(log, [{ verb: 1n, new_name: "Ada" }, { verb: 3n, new_name: null }]);
  await db.untrack("person");
  await assert.rejects(db.sql("SELECT * FROM bobak_log_person"), fails("Schema"));
  await assert.rejects(db.track("nobody"), fails("Schema"));
  await db.close();
}));

test("a killed server", () => inFolder(async (folder) => {
  let server = await unix(folder);
  const db = await connect<Tables>(`bobak+unix:${server.place}`);
  await db.create(person);
  const table = await db.table("person");
  await table.insert({ name: "Ada" });
  await assert.rejects(db.transaction(async (transaction) => {
    await table.in(transaction).insert({ name: "lost" });
    await server.kill();
    await table.in(transaction).insert({ name: "lost too" });
  }), fails("Unreachable"));
  await assert.rejects(table.count(), fails("Unreachable"));
  server = await unix(folder);
  // A read is repeated on a new connection; the transaction is undone.
  assert.equal(await table.count(), 1);
  async function* killing() {
    yield* people(20_000);
    await server.kill();
    yield* people(20_000);
  }
  await assert.rejects(table.insertMany(killing()), fails("Unknown"));
  await db.close();
}));

test("invalid and missing responses", () => inFolder(async (folder) => {
  const welcome = JSON.parse(readFileSync(join(here, "../../vectors/wire.json"), "utf8")).find((one: any) => one.name === "welcome").hex;
  const answers = ["485454502f312e3120343030", "00".repeat(12), "000000008100000001000000", "000000008100000077000000"];
  for (const answer of [...answers, undefined]) {
    for (const first of [[], [welcome]]) {
      const path = join(folder, `s${answers.indexOf(answer!)}${first.length}`);
      const pretend = createServer((socket) => {
        const rest = [...first, answer];
        socket.on("error", () => undefined).on("data", () => {
          const next = rest.shift();
          if (next) socket.write(Buffer.from(next, "hex"));
        });
      }).listen(path);
      const work = connect(`bobak+unix:${path}?timeout=${answer ? 60_000 : 50}`).then((db) => db.ping().finally(() => db.close()));
      // The first response shows another protocol: HTTP.
      const wrong = answer === answers[0] && first.length === 0;
      await assert.rejects(work, fails(wrong ? "Config" : answer ? "Unreachable" : "Timeout"));
      pretend.close();
    }
  }
}));
