// Responses: each function reads the body of a frame.
import { BobakError, Garbled, kinds, type Violation } from "../errors.js";
import { Reader, type Stored } from "./code.js";
import { parseTable, readType, type TableSchema, type Type } from "./schema.js";

/** The response to an authenticated client. */
export interface Welcome {
  version: number;
  frame: number;
  row: number;
  requests: number;
  handles: number;
  window: number;
  capabilities: number;
  engine: string;
  server: string;
}

/** The outcome of consecutive rows. */
export interface Group {
  tag: "keys" | "inserted" | "key" | "changed" | "ignored" | "failed" | "updated" | "updated_key";
  rows: number;
  /** The first integer key, the key of the updated row, or how many rows each has changed. */
  value?: bigint;
  key?: Uint8Array;
  error?: BobakError;
}

function whole<T>(body: Buffer, read: (r: Reader) => T): T {
  const r = new Reader(body);
  const found = read(r);
  r.finish();
  return found;
}

export const welcome = (body: Buffer): Welcome =>
  whole(body, (r) => ({
    version: r.u16(), frame: r.u32(), row: r.u32(), requests: r.u32(), handles: r.u32(), window: r.u32(),
    capabilities: r.u32(), engine: r.text(), server: r.text(),
  }));

export const error = (body: Buffer): BobakError => whole(body, readError);

function readError(r: Reader): BobakError {
  // A kind that is newer than this client is an error of the engine.
  const kind = kinds[r.u8() - 1] ?? "Engine";
  const words = r.text();
  const place = {
    table: r.option(() => r.text()) ?? undefined, column: r.option(() => r.text()) ?? undefined,
    row: r.option(() => Number(r.u64())) ?? undefined, code: r.option(() => r.u32() | 0) ?? undefined,
    detail: r.option(() => r.text()) ?? undefined,
    violations: kind === "Invalid" ? r.list(r.u16(), () => readViolation(r)) : undefined,
  };
  return new BobakError(kind, words, place);
}

const readViolation = (r: Reader): Violation => ({
  column: r.option(() => r.text()) ?? undefined, message: r.text(),
});

export const count = (body: Buffer): bigint => whole(body, (r) => r.u64());

const groupTags = ["keys", "inserted", "key", "changed", "ignored", "failed", "updated", "updated_key"] as const;

export function outcomes(body: Buffer): Group[] {
  const r = new Reader(body);
  const groups: Group[] = [];
  while (!r.isEmpty) {
    const tag = groupTags[r.upTo(7, "an outcome")]!;
    const group: Group = { tag, rows: r.u32() };
    const isSingle = tag === "key" || tag === "failed" || tag === "updated" || tag === "updated_key";
    if (group.rows === 0 || (group.rows > 1 && isSingle)) throw new Garbled("a group of outcomes");
    if (tag === "keys" || tag === "updated") group.value = r.i64();
    else if (tag === "changed") group.value = r.u64();
    else if (tag === "key" || tag === "updated_key") group.key = Uint8Array.from(r.raw(16));
    else if (tag === "failed") group.error = readError(r);
    groups.push(group);
  }
  return groups;
}

export function rows(body: Buffer): Stored[][] {
  const r = new Reader(body);
  const found: Stored[][] = [];
  while (!r.isEmpty) found.push(r.row());
  return found;
}

/** A column of a result. */
export type ResultColumn = { name: string; type: Type };

export const columns = (body: Buffer): { cursor: bigint; columns: ResultColumn[] } =>
  whole(body, (r) => ({
    cursor: r.u64(),
    columns: r.list(r.u16(), () => ({ name: r.text(), type: readType(r)[0] })),
  }));

export const schemas = (body: Buffer): TableSchema[] =>
  whole(body, (r) => r.list(r.u32(), () => parseTable(r.sized())));
