// Descriptions of tables.
import { BobakError, Garbled } from "../errors.js";
import { store, type Value } from "../values.js";
import { Reader, Writer, type Stored } from "./code.js";

/** What a column holds, by the numbers of the protocol. */
export const types = [
  "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "text", "bytes", "uuid", "currency", "date",
  "time", "datetime", "timestamp", "json", "any", "decimal",
] as const;
export type Type = (typeof types)[number];

/** A foreign key of one column; `onDelete` is 0 restrict, 1 cascade, 2 set NULL. */
export interface Reference {
  table: string;
  column: string;
  onDelete: number;
}

/** A column of a table. */
export interface Column {
  name: string;
  type: Type;
  nullable: boolean;
  unique: boolean;
  asText: boolean;
  /** 0 bytes, 1 ASCII without case, 2 Unicode without case. */
  collation: number;
  /** 0 none, 1 created at, 2 modified at, 3 version. */
  role: number;
  maxChars: number | null;
  default: Stored;
  check: string | null;
  references: Reference | null;
}

/** A table: its columns, the places of its key's columns, its indexes. */
export interface TableSchema {
  name: string;
  columns: Column[];
  key: number[];
  /** Who makes keys: 0 the engine, 1 the client, 2 the user. */
  keysBy: number;
  indexes: { name: string; unique: boolean; columns: number[] }[];
  /** The description as it came; sent back unchanged. */
  described?: Buffer;
}

const roles = ["none", "created_at", "modified_at", "version"] as const;
const collations = ["bytes", "nocase", "unicode_nocase"] as const;
const actions = ["restrict", "cascade", "set_null"] as const;

/** What a column may be besides its name and its type. */
export interface ColumnOptions extends Partial<Omit<Column, "name" | "type" | "default" | "collation" | "role" | "references">> {
  /** What a row has that does not name it: a value as in rows. */
  default?: Value;
  /** What Bobak fills it with: the times of creation and change; a version is raised, and compared, at each update. */
  role?: (typeof roles)[number];
  /** How texts compare and sort: "nocase" folds ASCII only. */
  collation?: (typeof collations)[number];
  /** The row that it refers to; what becomes of this one where that is deleted: "restrict" refuses, unless said. */
  references?: { table: string; column: string; onDelete?: (typeof actions)[number] };
}

/** A column of a type; what `more` does not say is as plain as can be. */
export function column(name: string, type: Type, more: ColumnOptions = {}): Column {
  const { role = "none", collation = "bytes", references, default: otherwise = null, ...rest } = more;
  const among = (words: readonly string[], word: string) => {
    const found = words.indexOf(word);
    if (found < 0) throw new BobakError("Schema", `'${word}' is none of ${words.join(", ")}`, { column: name });
    return found;
  };
  among(types, type);
  const made: Column = {
    name, type, nullable: false, unique: false, asText: false, maxChars: null, default: null, check: null, ...rest,
    role: among(roles, role), collation: among(collations, collation),
    references: references ? { ...references, onDelete: among(actions, references.onDelete ?? "restrict") } : null,
  };
  made.default = store(otherwise, made);
  return made;
}

/** A table for `create`: the key is its first column, unless `key` names others. */
export function table(
  name: string, columns: Column[], key: string[] = [columns[0]!.name],
  indexes: { name: string; columns: string[]; unique?: boolean }[] = [],
): TableSchema {
  const place = (wanted: string) => {
    const found = columns.findIndex((column) => column.name === wanted);
    if (found < 0) throw new BobakError("Schema", `there is no column '${wanted}'`, { table: name });
    return found;
  };
  const places = key.map(place);
  const only = places.length === 1 ? columns[places[0]!]?.type : undefined;
  const keysBy = only === "i64" ? 0 : only === "uuid" ? 1 : 2;
  const indexed = indexes.map((one) => ({ name: one.name, unique: one.unique ?? false, columns: one.columns.map(place) }));
  return { name, columns, key: places, keysBy, indexes: indexed };
}

export function describe(table: TableSchema): Buffer {
  if (table.described) return table.described;
  const w = new Writer().text(table.name).u16(table.columns.length);
  for (const column of table.columns) {
    w.text(column.name).u8(types.indexOf(column.type));
    w.u8((column.nullable ? 1 : 0) | (column.unique ? 2 : 0) | (column.asText ? 4 : 0));
    w.u8(column.collation).u8(column.role).option(column.maxChars, (most) => w.u32(most));
    w.option(column.default, (value) => w.value(value)).option(column.check, (check) => w.text(check));
    w.option(column.references, (to) => w.text(to.table).text(to.column).u8(to.onDelete));
  }
  w.places(table.key).u8(table.keysBy).u16(table.indexes.length);
  for (const index of table.indexes) w.text(index.name).bool(index.unique).places(index.columns);
  return Buffer.from(w.bytes);
}

export function parseTable(described: Buffer): TableSchema {
  const r = new Reader(described);
  const name = r.text();
  const columns = r.list(r.u16(), () => readColumn(r));
  const [key, keysBy] = [r.places(), r.upTo(2, "who makes keys")];
  const indexes = r.list(r.u16(), () => ({ name: r.text(), unique: r.bool(), columns: r.places() }));
  r.finish();
  const places = [key, ...indexes.map((index) => index.columns)].flat();
  if (key.length === 0 || places.some((place) => place >= columns.length)) {
    throw new Garbled("a key or index over a column that the table has not");
  }
  return { name, columns, key, keysBy, indexes, described: Buffer.from(described) };
}

function readColumn(r: Reader): Column {
  const [name, type, flags] = [r.text(), types[r.upTo(types.indexOf("any"), "a type")]!, r.upTo(7, "flags")];
  return {
    name, type, nullable: (flags & 1) !== 0, unique: (flags & 2) !== 0, asText: (flags & 4) !== 0,
    collation: r.upTo(2, "a collation"), role: r.upTo(3, "a role"), maxChars: r.option(() => r.u32()),
    default: r.option(() => r.value()), check: r.option(() => r.text()),
    references: r.option(() => ({ table: r.text(), column: r.text(), onDelete: r.upTo(2, "an action") })),
  };
}
