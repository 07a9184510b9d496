// Conversion of values to their stored forms, and back.
import { randomBytes } from "node:crypto";
import { BobakError } from "./errors.js";
import type { Stored } from "./wire/code.js";
import type { Parameter } from "./wire/request.js";
import type { Column, Type } from "./wire/schema.js";

/** An exact amount of money: its ten-thousandths. */
export class Money {
  constructor(readonly scaled: bigint) {}

  /** Reads "-12", "12.3", "+12.3456". More than four decimals are an error unless they are zero. */
  static parse(text: string): Money {
    const found = /^([+-]?)(\d*)(?:\.(\d*))?$/.exec(text);
    const [, sign, units = "", decimals = ""] = found ?? [];
    if (!found || units + decimals === "" || /[1-9]/.test(decimals.slice(4))) {
      throw new BobakError("Mismatch", `'${text}' is not an amount`);
    }
    const scaled = BigInt(units + decimals.slice(0, 4).padEnd(4, "0")) * (sign === "-" ? -1n : 1n);
    if (BigInt.asIntN(64, scaled) !== scaled) throw new BobakError("OutOfRange", `the amount ${text} is too large`);
    return new Money(scaled);
  }

  /** Two decimals, or up to four if they are needed. */
  toString(): string {
    const [sign, magnitude] = this.scaled < 0n ? ["-", -this.scaled] : ["", this.scaled];
    const decimals = String(magnitude % 10_000n).padStart(4, "0");
    return `${sign}${magnitude / 10_000n}.${decimals.replace(/00$/, "")}`;
  }

  toJSON(): string {
    return this.toString();
  }
}

/** A column's value: see the table in the README. */
export type Value = null | boolean | number | bigint | string | Uint8Array | Money | Float32Array;

const small = new Set<Type>(["i8", "i16", "i32", "u8", "u16", "u32"]);

/** The stored form of a vector. */
function storeVector(value: unknown, column: Column): Uint8Array {
  const fail = (kind: "Mismatch" | "OutOfRange", words: string) => new BobakError(kind, words, { column: column.name });
  const isList = value instanceof Float32Array || (Array.isArray(value) && value.every((one) => typeof one === "number"));
  if (!isList) throw fail("Mismatch", "a vector is a Float32Array, or an array of numbers");
  const numbers = Float32Array.from(value as ArrayLike<number>);
  const wanted = column.length ?? 0;
  if (numbers.length !== wanted) throw fail("Mismatch", `the vector has ${numbers.length} numbers, and its column has ${wanted}`);
  const wrong = numbers.findIndex((number) => !Number.isFinite(number));
  if (wrong >= 0) throw fail("OutOfRange", `number ${wrong + 1} of the vector is ${numbers[wrong]}: its numbers must be finite`);
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, place) => bytes.writeFloatLE(number, 4 * place));
  return bytes;
}

function loadVector(stored: Uint8Array): Float32Array {
  if (stored.length % 4 !== 0) throw new BobakError("Mismatch", `a vector has 4 bytes for each number, not ${stored.length}`);
  const view = new DataView(stored.buffer, stored.byteOffset, stored.length);
  return Float32Array.from({ length: stored.length / 4 }, (_, place) => view.getFloat32(4 * place, true));
}

/** The nearest 32-bit float: servers reject any other. */
function single(value: number, column: Column): number {
  const nearest = Math.fround(value);
  if (Number.isFinite(nearest) === Number.isFinite(value) && (nearest === 0) === (value === 0)) return nearest;
  throw new BobakError("OutOfRange", `${value} does not fit f32`, { column: column.name });
}

/** A value in its column's stored form. */
export function store(value: unknown, column: Column): Stored {
  if (value == null) return null;
  const wrong = () =>
    new BobakError("Mismatch", `the column has the type ${column.type}, and the value is ${typeof value} ${String(value).slice(0, 60)}`, {
      column: column.name,
    });
  switch (column.type) {
    case "bool":
      if (typeof value === "boolean") return value ? 1n : 0n;
      throw wrong();
    case "f32":
      if (typeof value === "number") return single(value, column);
      throw wrong();
    case "f64":
      if (typeof value === "number") return value;
      throw wrong();
    case "text":
      if (typeof value === "string") return value;
      throw wrong();
    case "json":
      if (typeof value === "string" && isJson(value)) return value;
      throw wrong();
    case "bytes":
      if (value instanceof Uint8Array) return value;
      throw wrong();
    case "vector":
      return storeVector(value, column);
    case "uuid":
      return typeof value === "string" ? storeUuid(value, column) : (value instanceof Uint8Array ? value : thrown(wrong()));
    case "currency":
      if (value instanceof Money) return value.scaled;
      if (typeof value === "string") return Money.parse(value).scaled;
      throw wrong();
    case "date":
    case "time":
    case "datetime":
    case "timestamp": {
      const text = value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : value;
      if (typeof text !== "string") throw wrong();
      const micros = parseTime(text, column.type);
      return column.asText ? timeText(micros, column.type) : micros;
    }
    case "any":
      return parameter(value).value;
    default:
      if (typeof value === "bigint") return value;
      if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
      throw wrong();
  }
}

/** Readers of the column parse its texts. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function thrown(error: Error): never {
  throw error;
}

function storeUuid(text: string, column: Column): Stored {
  const digits = text.replaceAll("-", "").toLowerCase();
  if (!/^[0-9a-f]{32}$/.test(digits)) throw new BobakError("Mismatch", `'${text}' is not a UUID`, { column: column.name });
  const bytes = Uint8Array.from(Buffer.from(digits, "hex"));
  return column.asText ? uuidText(bytes) : bytes;
}

/** A value of a result, by its column's type. */
export function load(stored: Stored, type: Type): Value {
  if (stored === null) return null;
  if (typeof stored === "bigint") {
    // Another integer, which a program without truth values may have stored, stays one.
    if (type === "bool") return stored === 0n || stored === 1n ? stored === 1n : stored;
    if (small.has(type)) return Number(stored);
    if (type === "currency") return new Money(stored);
    if (type === "date" || type === "time" || type === "datetime" || type === "timestamp") return timeText(stored, type);
    return stored;
  }
  if (type === "vector" && stored instanceof Uint8Array) return loadVector(stored);
  return type === "uuid" && stored instanceof Uint8Array ? uuidText(stored) : stored;
}

const loadedInSql = new Set<Type>(["bool", "currency", "date", "time", "datetime", "timestamp", "uuid", "vector"]);

/**
 * A value of an SQL result: truth values, amounts, dates, times and UUIDs by their type, decimal numbers as their text, anything else as
 * it is stored.
 */
export function loadResult(stored: Stored, type: Type): Value {
  // The server sends the same column as integers and as texts.
  if (type === "decimal") return typeof stored === "bigint" ? String(stored) : stored;
  return loadedInSql.has(type) ? load(stored, type) : stored;
}

/** An SQL parameter with its type. Numbers, texts and bytes have no type; a whole number is an integer. */
export function parameter(value: unknown): Parameter {
  const plain = (value: Stored): Parameter => ({ value, type: "any" });
  if (value == null) return plain(null);
  if (typeof value === "boolean") return { value: value ? 1n : 0n, type: "bool" };
  if (typeof value === "number") return plain(Number.isSafeInteger(value) && !Object.is(value, -0) ? BigInt(value) : value);
  if (value instanceof Money) return { value: value.scaled, type: "currency" };
  if (value instanceof Date && !Number.isNaN(value.getTime())) return { value: BigInt(value.getTime()) * 1000n, type: "timestamp" };
  if (typeof value === "bigint" || typeof value === "string" || value instanceof Uint8Array) return plain(value);
  throw new BobakError("Mismatch", `a value of the type ${typeof value} cannot be stored`);
}

function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const day = 86_400_000_000n;

/** The microseconds, or days, of an ISO text; a year before 0 has six digits: `-000044-03-15`. Finer fractions are truncated, as by the server. */
function parseTime(text: string, type: Type): bigint {
  const form = {
    date: /^((?:-00)?\d{4}-\d\d-\d\d)()()$/, time: /^()(\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?$/,
    datetime: /^((?:-00)?\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?$/,
    timestamp: /^((?:-00)?\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/,
  }[type as "date"];
  const [found, date, clock, fraction = "", zone = "Z"] = form.exec(text) ?? [];
  // Formatting the parsed time again finds days that do not exist, and hour 24.
  const civil = `${date || "1970-01-01"}T${clock || "00:00"}`;
  const known = found === undefined ? NaN : Date.parse(`${civil}Z`);
  const is = !Number.isNaN(known) && new Date(known).toISOString().startsWith(civil);
  const millis = is ? Date.parse(`${civil}${zone}`) : NaN;
  if (Number.isNaN(millis)) throw new BobakError("Mismatch", `'${text}' is not a ${type}`);
  if (type === "date") return BigInt(millis / 86_400_000);
  const micros = Number(fraction.slice(0, 6).padEnd(6, "0"));
  return BigInt(millis) * 1000n + BigInt(micros);
}

/** The ISO text of microseconds, or days. */
function timeText(stored: bigint, type: Type): string {
  if (type === "date") return dateText(Number(stored));
  // PostgreSQL has 24:00, too.
  if (type === "time" && (stored < 0n || stored >= day)) {
    throw new BobakError("OutOfRange", `${stored} microseconds are out of the range of times of day`);
  }
  // Most fit in a number, whose arithmetic is faster.
  const whole = Number(stored);
  const days = Number.isSafeInteger(whole) ? Math.floor(whole / 86_400e6) : Number((stored - (((stored % day) + day) % day)) / day);
  const micros = Number.isSafeInteger(whole) ? whole - days * 86_400e6 : Number(((stored % day) + day) % day);
  const seconds = Math.floor(micros / 1e6);
  const rest = micros - seconds * 1e6;
  put2(11, Math.floor(seconds / 3600), ":");
  put2(14, Math.floor(seconds / 60) % 60, ":");
  put2(17, seconds % 60, ".");
  put2(20, Math.floor(rest / 10_000), "0");
  put2(22, Math.floor(rest / 100) % 100, "0");
  put2(24, rest % 100, "Z");
  if (type === "time") return letters.toString("latin1", 11, 26);
  const end = type === "timestamp" ? 27 : 26;
  return putDate(days) ? letters.toString("latin1", 0, end) : `${longDate(days)}${letters.toString("latin1", 10, end)}`;
}

/** A buffer for `2024-02-29T12:00:00.000000Z`, so that building a text needs one allocation. */
const letters = Buffer.from("0000-00-00T00:00:00.000000Z");

/** Writes two digits, and a letter after them. */
function put2(at: number, number: number, behind: string): void {
  letters[at] = 48 + Math.floor(number / 10);
  letters[at + 1] = 48 + (number % 10);
  letters[at + 2] = behind.charCodeAt(0);
}

/** Writes a date whose year has four digits; returns false for other years. */
function putDate(days: number): boolean {
  // Years begin in March here, so that a leap day is the last day of a year.
  const since = days + 719_468;
  const era = Math.floor(since / 146_097);
  const ofEra = since - era * 146_097;
  const year = Math.floor((ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365);
  const ofYear = ofEra - (365 * year + Math.floor(year / 4) - Math.floor(year / 100));
  const month = Math.floor((5 * ofYear + 2) / 153);
  const civil = era * 400 + year + (month < 10 ? 0 : 1);
  if (!(civil >= 0 && civil <= 9999)) return false;
  put2(0, Math.floor(civil / 100), "0");
  put2(2, civil % 100, "-");
  put2(5, month < 10 ? month + 3 : month - 9, "-");
  put2(8, ofYear - Math.floor((153 * month + 2) / 5) + 1, "T");
  return true;
}

function dateText(days: number): string {
  return putDate(days) ? letters.toString("latin1", 0, 10) : longDate(days);
}

/** A date whose year has more digits, or is negative. */
function longDate(days: number): string {
  if (Math.abs(days) > 1e8) throw new BobakError("OutOfRange", `${days} days are out of the range of dates`);
  return new Date(days * 86_400_000).toISOString().split("T")[0]!;
}

/** The current time as a time stamp is stored. */
export function now(column: Column): Stored {
  const micros = BigInt(Date.now() * 1000);
  return column.asText ? timeText(micros, "timestamp") : micros;
}

let last = 0n;

/** A UUID of version 7, which sorts after every one that this process made before. */
export function newUuid(): string {
  // 48 bits of milliseconds and 12 bits of a counter, which overflows into the milliseconds.
  const clock = BigInt(Date.now()) << 12n;
  last = last + 1n > clock ? last + 1n : clock;
  const random = randomBytes(8);
  random[0] = (random[0]! & 0x3f) | 0x80;
  const first = ((last >> 12n) << 16n) | 0x7000n | (last & 0xfffn);
  return uuidText(Buffer.from(first.toString(16).padStart(16, "0") + random.toString("hex"), "hex"));
}
