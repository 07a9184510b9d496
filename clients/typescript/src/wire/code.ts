// Integers of fixed width, texts and options, written and read.
import { BobakError, Garbled } from "../errors.js";

/** A value in its stored form: integers are bigints, floats are numbers. */
export type Stored = null | bigint | number | string | Uint8Array;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of bytes, checked. */
export function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Garbled("a text that is no UTF-8");
  }
}

/** The bytes of a text; half a character is refused. */
export function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text);
  // What has no UTF-8 form has become U+FFFD.
  if (bytes.includes("\ufffd") && !text.includes("\ufffd")) {
    throw new BobakError("Mismatch", "a text with half a character can't be stored");
  }
  return bytes;
}

/** Appends to a buffer that grows. */
export class Writer {
  #out = Buffer.allocUnsafe(256);
  #length = 0;

  #room(size: number): number {
    const at = this.#length;
    this.#length += size;
    if (this.#length > this.#out.length) {
      const grown = Buffer.allocUnsafe(2 * this.#length);
      this.#out.copy(grown, 0, 0, at);
      this.#out = grown;
    }
    return at;
  }

  get length(): number {
    return this.#length;
  }

  /** What was written; good until the next write. */
  get bytes(): Buffer {
    return this.#out.subarray(0, this.#length);
  }

  u8(value: number): this {
    const at = this.#room(1);
    this.#out[at] = value;
    return this;
  }
  bool(value: boolean): this {
    return this.u8(value ? 1 : 0);
  }
  u16(value: number): this {
    const at = this.#room(2);
    this.#out.writeUInt16LE(value, at);
    return this;
  }
  u32(value: number): this {
    const at = this.#room(4);
    this.#out.writeUInt32LE(value, at);
    return this;
  }
  u64(value: bigint): this {
    const at = this.#room(8);
    this.#out.writeBigUInt64LE(value, at);
    return this;
  }
  i64(value: bigint): this {
    const at = this.#room(8);
    if (BigInt.asIntN(64, value) !== value) {
      throw new BobakError("OutOfRange", `${value} does not fit 64 bits`);
    }
    this.#out.writeBigInt64LE(value, at);
    return this;
  }
  f64(value: number): this {
    if (Number.isNaN(value)) throw new BobakError("OutOfRange", "NaN can't be stored");
    const at = this.#room(8);
    this.#out.writeDoubleLE(value, at);
    return this;
  }
  raw(bytes: Uint8Array): this {
    const at = this.#room(bytes.length);
    this.#out.set(bytes, at);
    return this;
  }
  sized(bytes: Uint8Array): this {
    return this.u32(bytes.length).raw(bytes);
  }
  text(value: string): this {
    return this.sized(bytesOf(value));
  }
  option<T>(value: T | null | undefined, put: (value: T) => unknown): this {
    this.bool(value != null);
    if (value != null) put(value);
    return this;
  }
  places(places: readonly number[]): this {
    this.u16(places.length);
    for (const place of places) this.u16(place);
    return this;
  }

  /** A single value with its class before it. */
  value(value: Stored): this {
    if (value === null) return this.u8(0);
    if (typeof value === "bigint") return this.u8(1).i64(value);
    if (typeof value === "number") return this.u8(2).f64(value);
    if (typeof value === "string") return this.u8(3).text(value);
    return this.u8(4).sized(value);
  }

  /** A row in the row codec, with its length before it. */
  row(values: readonly Stored[]): this {
    const heap: Uint8Array[] = [];
    let offset = 0;
    const start = this.#room(6);
    this.#out.writeUInt16LE(values.length, start + 4);
    for (const value of values) {
      const float = typeof value === "number";
      this.u8(value === null ? 0 : typeof value === "bigint" ? 1 : float ? 2 : typeof value === "string" ? 3 : 4);
    }
    for (const value of values) {
      if (value === null) this.u64(0n);
      else if (typeof value === "bigint") this.i64(value);
      else if (typeof value === "number") this.f64(value);
      else {
        const piece = typeof value === "string" ? bytesOf(value) : value;
        this.u32(offset).u32(piece.length);
        offset += piece.length;
        heap.push(piece);
      }
    }
    for (const piece of heap) this.raw(piece);
    this.#out.writeUInt32LE(this.#length - start - 4, start);
    return this;
  }
}

/** Takes from the front of a body; what is too short is Garbled. */
export class Reader {
  at = 0;
  constructor(readonly data: Buffer) {}

  #take(size: number): number {
    const at = this.at;
    if (at + size > this.data.length) throw new Garbled("a body that ends too early");
    this.at += size;
    return at;
  }
  get isEmpty(): boolean {
    return this.at === this.data.length;
  }
  raw(size: number): Buffer {
    const at = this.#take(size);
    return this.data.subarray(at, at + size);
  }
  u8(): number {
    return this.data[this.#take(1)]!;
  }
  upTo(most: number, what: string): number {
    const value = this.u8();
    if (value > most) throw new Garbled(`${value} is not ${what}`);
    return value;
  }
  bool(): boolean {
    return this.upTo(1, "yes or no") === 1;
  }
  u16(): number {
    return this.data.readUInt16LE(this.#take(2));
  }
  u32(): number {
    return this.data.readUInt32LE(this.#take(4));
  }
  u64(): bigint {
    return this.data.readBigUInt64LE(this.#take(8));
  }
  i64(): bigint {
    return this.data.readBigInt64LE(this.#take(8));
  }
  f64(): number {
    const value = this.data.readDoubleLE(this.#take(8));
    if (Number.isNaN(value)) throw new Garbled("NaN is no value");
    return value;
  }
  sized(): Buffer {
    return this.raw(this.u32());
  }
  text(): string {
    return textOf(this.sized());
  }
  option<T>(read: () => T): T | null {
    return this.bool() ? read() : null;
  }
  list<T>(count: number, read: () => T): T[] {
    const found: T[] = [];
    for (let number = 0; number < count; number++) found.push(read());
    return found;
  }
  places(): number[] {
    return this.list(this.u16(), () => this.u16());
  }
  value(): Stored {
    switch (this.u8()) {
      case 0:
        return null;
      case 1:
        return this.i64();
      case 2:
        return this.f64();
      case 3:
        return this.text();
      case 4:
        return Uint8Array.from(this.sized());
      default:
        throw new Garbled("no class of values");
    }
  }
  /** A framed row, every offset and text checked. */
  row(): Stored[] {
    const row = new Reader(this.sized());
    const tags = row.raw(row.u16());
    const heap = row.at + 8 * tags.length;
    let used = heap;
    const values: Stored[] = [];
    for (const tag of tags) {
      if (tag === 0) {
        if (row.u64() !== 0n) throw new Garbled("a NULL with a value");
        values.push(null);
      } else if (tag === 1) values.push(row.i64());
      else if (tag === 2) values.push(row.f64());
      else if (tag === 3 || tag === 4) {
        const [offset, length] = [row.u32(), row.u32()];
        if (heap + offset !== used || used + length > row.data.length) throw new Garbled("a row that is damaged");
        const piece = row.data.subarray(used, (used += length));
        values.push(tag === 3 ? textOf(piece) : Uint8Array.from(piece));
      } else throw new Garbled("an unknown tag in a row");
    }
    if (used !== row.data.length) throw new Garbled("a row of another length than it says");
    return values;
  }
  finish(): void {
    if (!this.isEmpty) throw new Garbled(`${this.data.length - this.at} bytes too many`);
  }
}
