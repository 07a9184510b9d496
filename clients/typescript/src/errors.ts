/** The kinds of errors, by the numbers of the protocol from 1. */
export const kinds = [
  "NotFound", "Duplicate", "Conflict", "Constraint", "TooLong", "OutOfRange", "Mismatch", "Unsupported", "Schema",
  "Syntax", "Busy", "Serialization", "Timeout", "Unreachable", "Unknown", "Denied", "Full", "ReadOnly", "Corrupt", "Io",
  "Config", "Misuse", "Interrupted", "Engine", "Invalid",
] as const;

/** The reason of an error. Match on it, and show the error itself to people. */
export type ErrorKind = (typeof kinds)[number];

/** Where an error happened, and the engine's own message. */
export interface ErrorPlace {
  table?: string | undefined;
  column?: string | undefined;
  /** The number in its batch, from 0. */
  row?: number | undefined;
  /** The engine's own code; for SQLite its extended result code. */
  code?: number | undefined;
  detail?: string | undefined;
  /** What is wrong with the row, if the kind is `Invalid`. */
  violations?: readonly Violation[] | undefined;
}

/** One thing that is wrong with a row. */
export interface Violation {
  /** Undefined if the row as a whole is wrong. */
  column?: string | undefined;
  /** Continues the column's name: `must not be blank`. */
  message: string;
}

/** The error that every failing call throws. */
export class BobakError extends Error {
  override readonly name = "BobakError";
  readonly kind: ErrorKind;
  table: string | undefined;
  column: string | undefined;
  row: number | undefined;
  readonly code: number | undefined;
  readonly detail: string | undefined;
  /** What is wrong with the row; empty unless the kind is `Invalid`. */
  readonly violations: readonly Violation[];
  /** The sentence without the place. */
  readonly words: string;

  constructor(kind: ErrorKind, words: string, place: ErrorPlace = {}, cause?: unknown) {
    super(words, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.words = words;
    this.table = place.table;
    this.column = place.column;
    this.row = place.row;
    this.code = place.code;
    this.detail = place.detail;
    this.violations = place.violations ?? [];
    // The place may be added after construction, and the message must show it.
    const get = () => this.#said();
    Object.defineProperty(this, "message", { get, configurable: true, enumerable: false });
  }

  /** Whether the same call, or the transaction from its beginning, may succeed if it is repeated. */
  get isRetryable(): boolean {
    return ["Busy", "Serialization", "Timeout", "Unreachable"].includes(this.kind);
  }

  override toString(): string {
    return this.#said();
  }

  #said(): string {
    const places = [["table", this.table], ["column", this.column], ["row", this.row]];
    const where = places.filter(([, place]) => place !== undefined).map((pair) => pair.join(" "));
    return where.length ? `${this.words} (${where.join(", ")})` : this.words;
  }
}

/** Bytes that do not follow the protocol: the connection cannot be used any more. */
export class Garbled extends Error {}
