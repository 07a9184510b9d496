// Descriptions of tables.
import { BobakError, Garbled } from "../errors.js";
import { store, type Value } from "../values.js";
import { Reader, Writer, type Stored } from "./code.js";

/** The types of columns, in the order of the protocol. */
export const types = [
  "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "text", "bytes", "uuid", "currency", "date",
  "time", "datetime", "timestamp", "json", "any", "decimal", "vector",
] as const;
export type Type = (typeof types)[number];

/** A foreign key of one column; `onDelete` is 0 restrict, 1 cascade, 2 set NULL,
 * 3 no action; plus 4 times the action on update, plus 16 if the rule is checked at the commit. */
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
  /** 0 binary, 1 ASCII case-insensitive, 2 Unicode case-insensitive. */
  collation: number;
  /** 0 none, 1 created at, 2 modified at, 3 version. */
  role: number;
  maxChars: number | null;
  default: Stored;
  check: string | null;
  references: Reference | null;
  /** The expression by which the engine computes the column, which is then only read. */
  generated?: string;
  /** The number of the numbers of a vector. */
  length?: number;
}

/** A foreign key of several columns, by their positions, in the order of `referenced`; `actions` are as a
 * reference's `onDelete`. */
export interface ForeignKey {
  columns: number[];
  table: string;
  referenced: string[];
  actions: number;
}

/** A table: its columns, the positions of its key's columns, its indexes. */
export interface TableSchema {
  name: string;
  columns: Column[];
  key: number[];
  /** What generates keys: 0 the engine, 1 the client, 2 neither: the program sets them. */
  keysBy: number;
  indexes: { name: string; unique: boolean; columns: number[] }[];
  /** Whether the engine never makes the key of a deleted row again. */
  neverReused?: boolean;
  foreignKeys?: ForeignKey[];
  /** Whether it is a view, which can only be read and may have no key. */
  view?: boolean;
  /** What it is searched by: the positions of columns, and the language of their texts. */
  search?: { columns: number[]; language: string };
  /** The description as the server sent it; it is sent back unchanged. */
  described?: Uint8Array;
}

const collations = ["binary", "nocase", "unicode_nocase"] as const;
const actions = ["restrict", "cascade", "set_null", "no_action"] as const;

/** The options of a column, besides its name and its type. */
export interface ColumnOptions {
  /** Part of the key, by default the column `id`; with "given" the program sets the key, and none is generated. */
  key?: boolean | "given" | undefined;
  /** Whether it may be NULL. */
  nullable?: boolean | undefined;
  /** The maximum number of characters of a text. */
  max?: number | undefined;
  /** Whether no two rows have the same value. */
  unique?: boolean | undefined;
  /** An index over this column. */
  index?: boolean | undefined;
  /** The value of rows that do not name the column. */
  default?: Value | undefined;
  /** Bobak sets it to the time of the insert. */
  createdAt?: boolean | undefined;
  /** Bobak sets it to the time of each write. */
  modifiedAt?: boolean | undefined;
  /** Each update checks and raises it. */
  version?: boolean | undefined;
  /** How texts compare and sort: "binary" unless set; "nocase" ignores the case of ASCII letters. */
  collation?: (typeof collations)[number] | undefined;
  /** A constraint in SQL. */
  check?: string | undefined;
  /** A foreign key: a table, whose key it references, or "table(column)". */
  references?: TableSchema | `${string}(${string})` | undefined;
  /** What a delete of the referenced row does: "restrict" unless set. */
  onDelete?: (typeof actions)[number] | undefined;
  /** "text" stores dates, times and UUIDs as ISO text. */
  store?: "text" | undefined;
  /** The text is searched together with the others that have this option; "english": in this language. */
  search?: boolean | string | undefined;
  /** The number of the numbers of a vector. */
  length?: number | undefined;
}

/** A column for `table`. */
export interface ColumnDefinition extends Column {
  readonly options: ColumnOptions;
}

const known = new Set([
  "key", "nullable", "max", "unique", "index", "default", "createdAt", "modifiedAt", "version", "collation", "check",
  "references", "onDelete", "store", "search", "length",
]);

/** A column of a type, with options. */
export function column(name: string, type: Type, options: ColumnOptions = {}): ColumnDefinition {
  const wrong = (words: string) => new BobakError("Schema", words, { column: name });
  const among = (option: string, words: readonly string[], word: unknown) => {
    const found = words.indexOf(word as string);
    if (found < 0) throw wrong(`${option} is one of ${words.join(", ")}, not '${String(word)}'`);
    return found;
  };
  among("a type", types, type);
  for (const option of Object.keys(options)) {
    if (!known.has(option)) throw wrong(`'${option}' is not an option of a column; the options are ${[...known].join(", ")}`);
  }
  if (options.store !== undefined) among("store", ["text"], options.store);
  if (![undefined, false, true, "given"].includes(options.key)) throw wrong(`key is true or "given", not ${String(options.key)}`);
  const { max } = options;
  if (max !== undefined && !(Number.isInteger(max) && max > 0 && max < 2 ** 32)) throw wrong(`max is a number of characters, not ${String(max)}`);
  const onDelete = among("onDelete", actions, options.onDelete ?? "restrict");
  if (options.onDelete !== undefined && options.references === undefined) throw wrong("onDelete needs references");
  const role = options.createdAt ? 1 : options.modifiedAt ? 2 : options.version ? 3 : 0;
  const made: ColumnDefinition = {
    name, type, nullable: options.nullable ?? false, unique: options.unique ?? false, asText: options.store === "text",
    collation: among("collation", collations, options.collation ?? "binary"), role, maxChars: options.max ?? null,
    default: null, check: options.check ?? null, references: null, options,
  };
  const { length } = options;
  if (length !== undefined && type !== "vector") throw wrong("only vectors have a length");
  if (type === "vector") {
    if (!(Number.isInteger(length) && length! > 0 && length! < 2 ** 16)) throw wrong(`length is a number from 1 to 65535, not ${String(length)}`);
    made.length = length!;
  }
  if (options.references !== undefined) made.references = { ...reference(options.references, wrong), onDelete };
  if (made.references && onDelete === 2 && !made.nullable) throw wrong('onDelete: "set_null" needs nullable: true');
  made.default = store(options.default ?? null, made);
  return made;
}

/** The table and the column of a foreign key. */
function reference(to: unknown, wrong: (words: string) => BobakError): { table: string; column: string } {
  if (typeof to === "string") {
    const [, table, column] = /^([^()]+)\(([^()]+)\)$/.exec(to) ?? [];
    if (table !== undefined && column !== undefined) return { table, column };
  } else if (to !== null && typeof to === "object" && "columns" in to && "key" in to) {
    const { name, columns, key } = to as TableSchema;
    if (key.length !== 1) throw wrong(`the table ${name} has a key of several columns, which nothing references`);
    return { table: name, column: columns[key[0]!]!.name };
  }
  const shown = typeof to === "string" ? `'${to}'` : JSON.stringify(to);
  throw wrong(`references: ${shown}: write references: airline, which is a table, or references: "airline(code)"`);
}

/** A table for `create`, with indexes over several columns. */
export function table(
  name: string, columns: ColumnDefinition[], indexes: { name: string; columns: string[]; unique?: boolean }[] = [],
): TableSchema {
  const place = (wanted: string) => {
    const found = columns.findIndex((column) => column.name === wanted);
    if (found < 0) throw new BobakError("Schema", `there is no column '${wanted}'`, { table: name });
    return found;
  };
  let key = columns.flatMap((column, place) => (column.options.key ? [place] : []));
  if (key.length === 0) key = columns.flatMap((column, place) => (column.name === "id" ? [place] : []));
  if (key.length === 0) throw new BobakError("Schema", "the table has no key: name a column id, or add key: true to one", { table: name });
  const given = columns.some((column) => column.options.key === "given");
  const only = key.length === 1 && !given ? columns[key[0]!]!.type : undefined;
  const keysBy = only === "i64" ? 0 : only === "uuid" ? 1 : 2;
  const own = columns.filter((column) => column.options.index).map((column) => (
    { name: `${name}_${column.name}`, columns: [column.name], unique: false }
  ));
  const indexed = [...own, ...indexes].map((one) => ({ name: one.name, unique: one.unique ?? false, columns: one.columns.map(place) }));
  const made: TableSchema = { name, columns: columns.map(({ options: _, ...column }) => column), key, keysBy, indexes: indexed };
  const search = searchOf(name, columns);
  return search ? { ...made, search } : made;
}

/** What the table is searched by. All of its columns have one language. */
function searchOf(table: string, columns: ColumnDefinition[]): TableSchema["search"] {
  const places = columns.flatMap((column, place) => (column.options.search ? [place] : []));
  const [language, other] = new Set(places.map((place) => {
    const { search } = columns[place]!.options;
    return typeof search === "string" ? search : "simple";
  }));
  if (other !== undefined) throw new BobakError("Schema", `the columns of a search have one language, not ${language} and ${other}`, { table });
  return language === undefined ? undefined : { columns: places, language };
}

/**
 * Rejects a description with the columns of the key in another order than those of the table: a program would name other rows by
 * its keys.
 * @internal
 */
export function checkKey(described: TableSchema, found: TableSchema | undefined): void {
  const names = (table: TableSchema) => table.key.map((place) => table.columns[place]!.name);
  if (!found || found.key.length !== described.key.length) return;
  const [key, declared] = [names(found), names(described)];
  if (key.every((name, number) => name.toLowerCase() === declared[number]!.toLowerCase())) return;
  const words = `the key of the table is (${key.join(", ")}), and that of its description is (${declared.join(", ")})`;
  throw new BobakError("Schema", `${words}: name these columns in the same order`, { table: found.name });
}

/** Bits above the generator of keys. */
const [neverReused, hasForeignKeys, isView, isSearched] = [4, 8, 16, 32];

/** @internal */
export function describe(table: TableSchema): Uint8Array {
  if (table.described) return table.described;
  const w = new Writer().text(table.name).u16(table.columns.length);
  for (const column of table.columns) {
    w.text(column.name).u8(types.indexOf(column.type));
    if (column.type === "vector") w.u16(column.length ?? 0);
    w.u8((column.nullable ? 1 : 0) | (column.unique ? 2 : 0) | (column.asText ? 4 : 0) | (column.generated ? 8 : 0));
    w.u8(column.collation).u8(column.role).option(column.maxChars, (most) => w.u32(most));
    w.option(column.default, (value) => w.value(value)).option(column.check, (check) => w.text(check));
    w.option(column.references, (to) => w.text(to.table).text(to.column).u8(to.onDelete));
    if (column.generated) w.text(column.generated);
  }
  const keys = table.foreignKeys ?? [];
  const flags = (table.neverReused ? neverReused : 0) | (keys.length > 0 ? hasForeignKeys : 0);
  w.places(table.key).u8(table.keysBy | flags | (table.view ? isView : 0) | (table.search ? isSearched : 0)).u16(table.indexes.length);
  for (const index of table.indexes) w.text(index.name).bool(index.unique).places(index.columns);
  if (keys.length > 0) w.u16(keys.length);
  for (const key of keys) {
    w.places(key.columns).text(key.table);
    for (const name of key.referenced) w.text(name);
    w.u8(key.actions);
  }
  if (table.search) w.places(table.search.columns).text(table.search.language);
  return Buffer.from(w.bytes);
}

/** @internal */
export function parseTable(described: Buffer): TableSchema {
  const r = new Reader(described);
  const name = r.text();
  const columns = r.list(r.u16(), () => readColumn(r));
  const [key, keys] = [r.places(), r.upTo(63, "a generator of keys")];
  const keysBy = keys & 3;
  if (keysBy > 2) throw new Garbled(`${keys} is not a key generator`);
  const indexes = r.list(r.u16(), () => ({ name: r.text(), unique: r.bool(), columns: r.places() }));
  const foreignKeys = r.list(keys & hasForeignKeys ? r.u16() : 0, () => {
    const [columns, table] = [r.places(), r.text()];
    return { columns, table, referenced: columns.map(() => r.text()), actions: r.upTo(31, "an action") };
  });
  const search = keys & isSearched ? { columns: r.places(), language: r.text() } : undefined;
  r.finish();
  const places = [key, search?.columns ?? [], ...[...indexes, ...foreignKeys].map((one) => one.columns)].flat();
  if ((key.length === 0 && !(keys & isView)) || places.some((place) => place >= columns.length)) {
    throw new Garbled("a key or index over a column that does not exist");
  }
  const made: TableSchema = { name, columns, key, keysBy, indexes, described: Buffer.from(described) };
  if (keys & neverReused) made.neverReused = true;
  if (foreignKeys.length > 0) made.foreignKeys = foreignKeys;
  if (keys & isView) made.view = true;
  if (search) made.search = search;
  return made;
}

/** @internal A type, and the length of a vector. */
export function readType(r: Reader): [Type, number | undefined] {
  const type = types[r.upTo(types.length - 1, "a type")]!;
  return [type, type === "vector" ? r.u16() : undefined];
}

function readColumn(r: Reader): Column {
  const [name, [type, length], flags] = [r.text(), readType(r), r.upTo(47, "flags")];
  const made: Column = {
    name, type, nullable: (flags & 1) !== 0, unique: (flags & 2) !== 0, asText: (flags & 4) !== 0,
    collation: r.upTo(2, "a collation"), role: r.upTo(3, "a role"), maxChars: r.option(() => r.u32()),
    default: r.option(() => r.value()), check: r.option(() => r.text()),
    references: r.option(() => ({ table: r.text(), column: r.text(), onDelete: r.upTo(31, "an action") })),
  };
  if (flags & 8) made.generated = r.text();
  if (length !== undefined) made.length = length;
  return made;
}
