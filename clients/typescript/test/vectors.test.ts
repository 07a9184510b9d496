// Every byte of the shared vectors: written, and read.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { kinds, type BobakError } from "../src/errors.js";
import * as answer from "../src/wire/answer.js";
import { Reader, Writer, type Stored } from "../src/wire/code.js";
import { head, Inbox, Kind } from "../src/wire/frame.js";
import * as request from "../src/wire/request.js";
import { describe, type TableSchema } from "../src/wire/schema.js";

type Json = any;
const load = (name: string): Json[] =>
  JSON.parse(readFileSync(new URL(`../../../../vectors/${name}`, import.meta.url), "utf8"));

function value(found: Json): Stored {
  if (typeof found === "number") return BigInt(found);
  if (found === null || typeof found === "string") return found;
  if ("int" in found) return BigInt(found.int);
  if ("float" in found) return Number(found.float.replace("inf", "Infinity"));
  return Uint8Array.from(Buffer.from(found.hex, "hex"));
}
const values = (found: Json): Stored[] => found.map(value);

function table(m: Json): TableSchema {
  const columns = m.columns.map((c: Json) => ({
    name: c.name, type: c.type, nullable: c.nullable, unique: c.unique, asText: c.as_text, collation: c.collation,
    role: c.role, maxChars: c.max_chars, default: value(c.default), check: c.check,
    references: c.references && {
      table: c.references.table, column: c.references.column,
      onDelete: c.references.on_delete + 4 * (c.references.on_update ?? 0) + (c.references.deferred ? 16 : 0),
    },
  }));
  columns.forEach((column: Json, place: number) => m.columns[place].length && (column.length = m.columns[place].length));
  const made: TableSchema = { name: m.name, columns, key: m.key, keysBy: m.keys_made_by, indexes: m.indexes };
  if (m.never_reused) made.neverReused = true;
  if (m.foreign_keys) made.foreignKeys = m.foreign_keys;
  if (m.view) made.view = true;
  if (m.search) made.search = m.search;
  return made;
}

function placed(m: Json): request.Placed {
  for (const is of ["and", "or"] as const) if (is in m) return { is, parts: m[is].map(placed) };
  if ("not" in m) return { is: "not", part: placed(m.not) };
  if ("is_null" in m) return { is: "null", place: m.is_null };
  const place = m.column;
  if ("in_query" in m) {
    const { table, column, condition } = m.in_query;
    return { is: "in_query", place, table, column, where: condition && placed(condition) };
  }
  if ("in" in m) return { is: "in", place, values: values(m.in) };
  if ("escape" in m) return { is: "like_escape", place, text: m.like, escape: m.escape };
  for (const is of ["like", "starts_with", "contains", "ends_with"] as const) if (is in m) return { is, place, text: m[is] };
  const comparison = m.comparison;
  if ("right" in m) return { is: "columns", place, comparison, right: m.right };
  return { is: "compare", place, comparison, value: value(m.value) };
}

function parameters(m: Json): request.Parameter[] {
  return values(m.parameters).map((value, at) => ({ value, type: m.types[at] }));
}

function source(w: Writer, m: Json): void {
  if ("sql" in m) return request.sql(w, m.sql, parameters(m));
  if ("statement" in m) return request.statement(w, m.statement, parameters(m));
  const columns = m.columns.map((one: Json) => {
    const [[what, place]] = Object.entries(one) as [[request.Expression, number]];
    return { what, place };
  });
  const order = m.order.map((one: Json) => ({ place: one.column, descending: one.descending }));
  const condition = m.condition && placed(m.condition);
  const lock = typeof m.lock === "object" ? { waitAtMost: m.lock.wait_at_most } : m.lock;
  request.select(w, m.table, { columns, condition, group: m.group, order, limit: m.limit, offset: m.offset, lock, search: m.search, nearest: nearest(m.nearest) });
}

function nearest(m: Json): Exclude<request.Select["nearest"], undefined> {
  return !m ? null : { place: m.column, metric: m.metric, to: new Uint8Array(Float32Array.from(m.to).buffer) };
}

function put(w: Writer, kind: number, m: Json): void {
  switch (kind) {
    case Kind.hello:
      return request.hello(w, [m.lowest, m.highest], m.database, m.client, m.credentials ?? {});
    case Kind.define:
      w.u32(m.number).raw(describe(table(m.table)));
      return;
    case Kind.prepare:
      w.u32(m.number).text(m.sql);
      return;
    case Kind.forget:
      w.bool(m.what === "table").u32(m.number);
      return;
    case Kind.control:
      return request.control(w, m.step, m.name);
    case Kind.write:
      request.run(w, m.table, m.verb, m.columns, m.by);
      w.row(values(m.row));
      return;
    case Kind.change: {
      const assigns = m.assign?.map((one: Json) => ({ place: one.add ?? one.set, value: value(one.value), adds: "add" in one }));
      return request.change(w, m.table, m.condition && placed(m.condition), assigns ?? null);
    }
    case Kind.batch:
      w.bool(m.on_error === "continue");
      for (const run of m.runs) {
        request.run(w, run.table, run.verb, run.columns);
        const rows = new Writer();
        for (const row of run.rows) rows.row(values(row));
        w.sized(rows.bytes);
      }
      return;
    case Kind.get:
      w.u32(m.table).row(values(m.key));
      return;
    case Kind.readPart:
      w.u32(m.table).u16(m.column).row(values(m.key)).u64(BigInt(m.first)).u32(m.most);
      return;
    case Kind.writeValue:
      w.u32(m.table).u16(m.column).row(values(m.key)).u64(BigInt(m.length)).raw(value(m.bytes) as Uint8Array);
      return;
    case Kind.explain:
      return source(w, m.source);
    case Kind.query:
      w.u32(m.credit).bool(m.columns);
      return source(w, m.source);
    case Kind.open:
    case Kind.execute:
      return source(w, m.source);
    case Kind.fetch:
    case Kind.close:
      w.u64(BigInt(m.cursor));
      return;
    case Kind.credit:
      w.u32(m.bytes);
      return;
    case Kind.alter:
      w.u16(m.changes.length);
      for (const one of m.changes) {
        const what = request.schemaChanges.find((what) => what in one)!;
        const created = what === "create_table";
        request.schemaChange(w, what, created ? 0 : one[what], table(created ? one[what] : one.table));
      }
      return;
    default:
      assert.deepEqual(m, {});
  }
}

const none = <T>(found: T | undefined): T | null => found ?? null;
const errorOf = (e: BobakError) => ({
  kind: kinds.indexOf(e.kind) + 1, message: e.words, table: none(e.table), column: none(e.column), row: none(e.row),
  code: none(e.code), detail: none(e.detail),
  ...(e.kind === "Invalid" && {
    violations: e.violations.map((one) => ({ column: none(one.column), message: one.message })),
  }),
});

function groupOf(g: answer.Group): Json {
  const rows = g.rows;
  if (g.error) return { failed: errorOf(g.error), rows };
  if (g.tag === "keys") return { integer_keys: Number(g.value), rows };
  if (g.tag === "changed") return { changed: Number(g.value), rows };
  if (g.tag === "updated") return { updated_integer: Number(g.value), rows };
  if (g.tag === "updated_key") return { updated_key: { hex: Buffer.from(g.key!).toString("hex") }, rows };
  if (g.key) return { key: { hex: Buffer.from(g.key).toString("hex") }, rows };
  return { [g.tag]: true, rows };
}

function check(kind: number, body: Buffer, m: Json): void {
  if (kind === Kind.welcome) assert.deepEqual(answer.welcome(body), m);
  else if (kind === Kind.error) assert.deepEqual(errorOf(answer.error(body)), m);
  else if (kind === Kind.count) assert.equal(answer.count(body), value(m.rows));
  else if (kind === Kind.outcomes) assert.deepEqual(answer.outcomes(body).map(groupOf), m.groups);
  else if (kind === Kind.rows) assert.deepEqual(answer.rows(body), m.rows.map(values));
  else if (kind === Kind.columns) assert.deepEqual(answer.columns(body), { ...m, cursor: BigInt(m.cursor) });
  else if (kind === Kind.schemas) {
    const found = answer.schemas(body).map(({ described, ...rest }) => rest);
    assert.deepEqual(found, m.tables.map(table));
  } else assert.equal(body.length, 0);
}

for (const vector of load("wire.json")) {
  test(`frame: ${vector.name}`, () => {
    const data = Buffer.from(vector.hex, "hex");
    if (vector.from === "client") {
      const w = new Writer();
      put(w, vector.kind, vector.message);
      const made = Buffer.concat([head(vector.kind, vector.more, vector.id, w.length), w.bytes]);
      assert.equal(made.toString("hex"), vector.hex);
      return;
    }
    const inbox = new Inbox();
    for (const byte of data.subarray(0, -1)) {
      inbox.feed(Buffer.from([byte]));
      assert.equal(inbox.next(), undefined);
    }
    inbox.feed(data.subarray(-1));
    const { body, ...rest } = inbox.next()!;
    assert.deepEqual(rest, { kind: vector.kind, more: vector.more, id: vector.id });
    assert.ok(inbox.isEmpty);
    check(vector.kind, body, vector.message);
    for (let end = 0; end < body.length; end++) {
      assert.throws(() => check(vector.kind, body.subarray(0, end), vector.message), `cut at ${end}`);
    }
  });
}

for (const vector of load("rows.json")) {
  test(`row: ${vector.name}`, () => {
    const data = Buffer.from(vector.hex, "hex");
    const framed = new Writer().sized(data).bytes;
    if (vector.values === null) {
      assert.throws(() => new Reader(framed).row());
      return;
    }
    assert.deepEqual(new Reader(framed).row(), values(vector.values));
    assert.deepEqual(new Writer().row(values(vector.values)).bytes, framed);
  });
}
