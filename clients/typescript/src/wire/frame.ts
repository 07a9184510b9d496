// Frames: heads of 12 bytes, and bodies, out of a stream that is cut anywhere.
import { Garbled } from "../errors.js";

/** The kinds of frames. */
export const Kind = {
  hello: 0x01, define: 0x02, prepare: 0x03, forget: 0x04, control: 0x05, write: 0x06, change: 0x07, batch: 0x08,
  get: 0x09, query: 0x0a, open: 0x0b, fetch: 0x0c, close: 0x0d, tables: 0x0e, alter: 0x0f, execute: 0x10, flush: 0x11,
  ping: 0x12, cancel: 0x13, credit: 0x14, losses: 0x15, readPart: 0x16, writeValue: 0x17, explain: 0x18,
  ok: 0x81, error: 0x82, welcome: 0x83, count: 0x84, outcomes: 0x85, rows: 0x86, columns: 0x87, schemas: 0x88,
} as const;

const known = new Set<number>(Object.values(Kind));
/** Kinds without a response. */
export const unanswered = new Set<number>([Kind.define, Kind.prepare, Kind.forget, Kind.close, Kind.cancel, Kind.credit]);

/** One frame; `more` is set if others of the same message follow. */
export interface Frame {
  kind: number;
  more: boolean;
  id: number;
  body: Buffer;
}

export function head(kind: number, more: boolean, id: number, length: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32LE(length, 0);
  bytes[4] = kind;
  bytes[5] = more ? 1 : 0;
  bytes.writeUInt32LE(id, 8);
  return bytes;
}

/** The problem if the server's first bytes are of another protocol. No frame begins with these bytes: it would be too long. */
export function foreign(first: Buffer): string | undefined {
  const [kind = 0, major, minor = 0] = first;
  if (kind >= 0x14 && kind <= 0x17 && major === 3 && minor >= 1 && minor <= 4) return "the server speaks TLS: add tls=on to the URL";
  if (!first.subarray(0, 5).equals(Buffer.from("HTTP/"))) return undefined;
  return "this is an HTTP listener: Bobak's own protocol has another port";
}

/** Collects bytes, and returns the frames in them. */
export class Inbox {
  #pieces: Buffer[] = [];
  #length = 0;

  feed(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  /** The first bytes of the input. */
  get first(): Buffer {
    if (this.#length) this.#join();
    return this.#pieces[0]?.subarray(0, 12) ?? Buffer.alloc(0);
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** The next frame, or undefined if it is not complete. */
  next(): Frame | undefined {
    if (this.#length < 12) return undefined;
    if (this.#pieces[0]!.length < 12) this.#join();
    const first = this.#pieces[0]!;
    const [length, kind, flags] = [first.readUInt32LE(0), first[4]!, first[5]!];
    if (!known.has(kind) || flags > 1 || first.readUInt16LE(6) !== 0) throw new Garbled("bytes that are not a frame header");
    const end = 12 + length;
    if (this.#length < end) return undefined;
    if (first.length < end) this.#join();
    const whole = this.#pieces[0]!;
    const frame = { kind, more: flags === 1, id: whole.readUInt32LE(8), body: whole.subarray(12, end) };
    this.#pieces[0] = whole.subarray(end);
    if (this.#pieces[0].length === 0) this.#pieces.shift();
    this.#length -= end;
    return frame;
  }

  #join(): void {
    this.#pieces = [Buffer.concat(this.#pieces)];
  }
}
