// Integers of fixed width, texts and options, written and read.
import { BobakError, Garbled } from "../errors.js";

/** A value in its stored form: integers are bigints, floats are numbers. */
export type Stored = null | bigint | number | string | Uint8Array;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The text of bytes, checked.
 * @internal
 */
export function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Garbled("a text that is not UTF-8");
  }
}

/** Short ASCII texts are written and read character by character: a call costs more. */
const short = 32;

/**
 * The bytes of a text; rejects a lone surrogate.
 * @internal
 */
export function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text);
  // Invalid UTF-16 has become U+FFFD.
  if (bytes.includes("\ufffd") && !text.includes("\ufffd")) {
    throw new BobakError("Mismatch", "a text with half a character can't be stored");
  }
  return bytes;
}

/** Reads and writes numbers in bytes, faster than a buffer's own functions. */
const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/**
 * Appends to a buffer that grows.
 * @internal
 */
export class Writer {
  #out = Buffer.allocUnsafe(256);
  #view = viewOf(this.#out);
  #length = 0;

  #room(size: number): number {
    const at = this.#length;
    this.#length += size;
    if (this.#length > this.#out.length) {
      const grown = Buffer.allocUnsafe(2 * this.#length);
      this.#out.copy(grown, 0, 0, at);
      this.#out = grown;
      this.#view = viewOf(grown);
    }
    return at;
  }

  get length(): number {
    return this.#length;
  }

  /** The written bytes; valid until the next write. */
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
    this.#view.setUint16(at, value, true);
    return this;
  }
  u32(value: number): this {
    const at = this.#room(4);
    this.#view.setUint32(at, value, true);
    return this;
  }
  u64(value: bigint): this {
    const at = this.#room(8);
    this.#view.setBigUint64(at, value, true);
    return this;
  }
  i64(value: bigint): this {
    const at = this.#room(8);
    if (BigInt.asIntN(64, value) !== value) {
      throw new BobakError("OutOfRange", `${value} is beyond what engines store: 64 bits with a sign`);
    }
    this.#view.setBigInt64(at, value, true);
    return this;
  }
  f64(value: number): this {
    if (Number.isNaN(value)) throw new BobakError("OutOfRange", "NaN can't be stored");
    const at = this.#room(8);
    this.#view.setFloat64(at, value, true);
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

  /** A single value with its storage class before it. */
  value(value: Stored): this {
    if (value === null) return this.u8(0);
    if (typeof value === "bigint") return this.u8(1).i64(value);
    if (typeof value === "number") return this.u8(2).f64(value);
    if (typeof value === "string") return this.u8(3).text(value);
    return this.u8(4).sized(value);
  }

  /** A row in the row codec, with its length before it. */
  row(values: readonly Stored[]): this {
    const count = values.length;
    const start = this.#room(6 + 9 * count);
    this.#view.setUint16(start + 4, count, true);
    let [slot, offset] = [start + 6 + count, 0];
    for (let place = 0; place < count; place++, slot += 8) {
      const value = values[place]!;
      const tag = start + 6 + place;
      if (value === null) {
        this.#out[tag] = 0;
        this.#view.setBigInt64(slot, 0n, true);
      } else if (typeof value === "bigint") {
        if (BigInt.asIntN(64, value) !== value) throw new BobakError("OutOfRange", `${value} is beyond what engines store: 64 bits with a sign`);
        this.#out[tag] = 1;
        this.#view.setBigInt64(slot, value, true);
      } else if (typeof value === "number") {
        if (Number.isNaN(value)) throw new BobakError("OutOfRange", "NaN can't be stored");
        this.#out[tag] = 2;
        this.#view.setFloat64(slot, value, true);
      } else {
        this.#out[tag] = typeof value === "string" ? 3 : 4;
        const before = this.#length;
        if (typeof value === "string") this.#put(value);
        else this.raw(value);
        const length = this.#length - before;
        this.#view.setUint32(slot, offset, true);
        this.#view.setUint32(slot + 4, length, true);
        offset += length;
      }
    }
    this.#view.setUint32(start, this.#length - start - 4, true);
    return this;
  }

  /** Appends a text's bytes. */
  #put(text: string): void {
    const at = this.#room(text.length);
    for (let place = 0; place < text.length; place++) {
      const unit = text.charCodeAt(place);
      if (unit > 0x7f || place === short) {
        // A longer text, or one that is not ASCII, is encoded by the buffer.
        this.#length = at;
        this.raw(bytesOf(text));
        return;
      }
      this.#out[at + place] = unit;
    }
  }
}

/**
 * Decodes a body from its beginning; throws Garbled if it is too short.
 * @internal
 */
export class Reader {
  at = 0;
  #view: DataView | undefined;
  constructor(readonly data: Buffer) {}

  #take(size: number): number {
    const at = this.at;
    if (at + size > this.data.length) throw new Garbled("a truncated message");
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
    if (Number.isNaN(value)) throw new Garbled("NaN is not a value");
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
        throw new Garbled("not a storage class");
    }
  }
  /** A framed row, every offset and text checked. */
  row(): Stored[] {
    const length = this.u32();
    const start = this.#take(length);
    const { data } = this;
    const view = (this.#view ??= viewOf(data));
    const end = start + length;
    const count = length < 2 ? 0 : view.getUint16(start, true);
    const heap = start + 2 + 9 * count;
    if (length < 2 || heap > end) throw new Garbled("a truncated row");
    let [used, slot] = [heap, start + 2 + count];
    const values: Stored[] = [];
    for (let tag = start + 2; tag < start + 2 + count; tag++, slot += 8) {
      const kind = data[tag]!;
      if (kind === 1) values.push(view.getBigInt64(slot, true));
      else if (kind === 3 || kind === 4) {
        const [offset, size] = [view.getUint32(slot, true), view.getUint32(slot + 4, true)];
        if (heap + offset !== used || used + size > end) throw new Garbled("a row that is damaged");
        values.push(kind === 3 ? this.#textAt(used, size) : new Uint8Array(data.subarray(used, used + size)));
        used += size;
      } else if (kind === 0) {
        if (view.getBigInt64(slot, true) !== 0n) throw new Garbled("a NULL with a value");
        values.push(null);
      } else if (kind === 2) {
        const float = view.getFloat64(slot, true);
        if (Number.isNaN(float)) throw new Garbled("NaN is not a value");
        values.push(float);
      } else throw new Garbled("an unknown tag in a row");
    }
    if (used !== end) throw new Garbled("a row whose length is wrong");
    return values;
  }

  /** A text in the body, checked. */
  #textAt(at: number, size: number): string {
    if (size <= short) {
      let bits = 0;
      for (let place = at; place < at + size; place++) bits |= this.data[place]!;
      if (bits < 0x80) return this.data.toString("latin1", at, at + size);
    }
    return textOf(this.data.subarray(at, at + size));
  }
  finish(): void {
    if (!this.isEmpty) throw new Garbled(`${this.data.length - this.at} bytes too many`);
  }
}
