// Values of bytes that are read and written in parts.
import { using, type Connection } from "./connection.js";
import type { Options, Session } from "./database.js";
import { BobakError, Garbled } from "./errors.js";
import type { Rows } from "./rows.js";
import * as answer from "./wire/answer.js";
import type { Stored, Writer } from "./wire/code.js";
import { Kind } from "./wire/frame.js";
import type { TableSchema } from "./wire/schema.js";

/** How many bytes are read at once, and how many are sent at once. */
const [readPart, writtenPart] = [1 << 20, 256 << 10];
/** The capabilities of servers that read and write parts of values, and that return plans. */
const valueParts = 1 << 23;

/** What a value is written from: bytes, a stream of bytes, or parts of them. */
export type BlobSource = Uint8Array | AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A `ReadableStream` of bytes, if a library of types declares that. */
export type ByteStream = typeof globalThis extends { ReadableStream: { prototype: infer Stream } } ? Stream : AsyncIterable<Uint8Array>;

/**
 * Rejects what the server cannot do.
 * @internal
 */
export function check(c: Connection, capability: number, what: string): void {
  if (c.welcome.capabilities & capability) return;
  throw new BobakError("Unsupported", `the server, ${c.welcome.server} with ${c.welcome.engine}, has no ${what}`);
}

/** Where a value is. */
class Address {
  constructor(readonly schema: TableSchema, readonly key: Stored[], readonly place: number) {}

  static of(rows: Rows, key: unknown, column: string): Address {
    const place = rows.place(column);
    const { type } = rows.schema.columns[place]!;
    if (type !== "bytes") {
      const words = `only bytes are read and written in parts, not ${type}`;
      throw new BobakError("Unsupported", words, { table: rows.schema.name, column });
    }
    return new Address(rows.schema, rows.key(key), place);
  }

  /** Encodes it, and a number: the first byte, or the length. */
  put(w: Writer, table: number, number: number): Writer {
    return w.u32(table).u16(this.place).row(this.key).u64(BigInt(number));
  }
}

interface Part {
  length: number | null;
  version: bigint | null;
  bytes: Uint8Array;
}

async function readAt(session: Session, address: Address, first: number, most: number, options: Options): Promise<Part | undefined> {
  return session.run(false, options.signal, async (c) => {
    check(c, valueParts, "values in parts");
    const table = c.table(address.schema);
    const id = c.put(Kind.readPart, (w) => address.put(w, table, first).u32(most));
    const row = answer.rows((await c.receive(id, Kind.rows)).body)[0];
    if (!row) return undefined;
    if (row.length !== 3) throw new Garbled("a part of a value of another length than three");
    const [length, bytes, version] = row as [bigint | null, Uint8Array | null, bigint | null];
    return { length: length === null ? null : Number(length), version, bytes: bytes ?? new Uint8Array() };
  });
}

/**
 * A column of bytes of one row, which is read in parts: see `readBlob` of a table.
 *
 * Each part is a read of its own, of up to a MiB. If the row was changed meanwhile, which shows in the length of the value or
 * in the version of the row, the error of the next read is Conflict.
 */
export class BlobReader {
  readonly #session: Session;
  readonly #address: Address;
  readonly #version: bigint | null;
  readonly #options: Options;
  /** The number of bytes. */
  readonly length: number;
  /** @internal */
  constructor(session: Session, address: Address, first: Part, options: Options) {
    [this.#session, this.#address, this.#options] = [session, address, options];
    [this.length, this.#version] = [first.length ?? 0, first.version];
  }

  /** The bytes from `start` up to `end`, as of an array. */
  async slice(start = 0, end = this.length): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const part of this.#parts(start, end)) parts.push(part);
    return Buffer.concat(parts);
  }

  /** The bytes from `start` up to `end` as a stream, which reads a part when it is wanted. */
  stream(start = 0, end = this.length): ByteStream {
    const parts = this.#parts(start, end);
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await parts.return()),
    }, { highWaterMark: 0 }) as ByteStream;
  }

  async *#parts(start: number, end: number): AsyncGenerator<Uint8Array, void> {
    const bound = (at: number) => Math.min(Math.max(at < 0 ? this.length + at : at, 0), this.length);
    const [last, first] = [bound(end), bound(start)];
    for (let at = first; at < last;) {
      const found = await readAt(this.#session, this.#address, at, Math.min(readPart, last - at), this.#options);
      if (!found || found.length !== this.length || found.version !== this.#version || found.bytes.length === 0) {
        const words = "the row was changed while its value was read: open the value again";
        throw new BobakError("Conflict", words, { table: this.#address.schema.name });
      }
      at += found.bytes.length;
      yield found.bytes;
    }
  }
}

/**
 * Opens a value.
 * @internal
 */
export async function open(session: Session, rows: Rows, key: unknown, column: string, options: Options): Promise<BlobReader | undefined> {
  const address = Address.of(rows, key, column);
  const first = await readAt(session, address, 0, 0, options);
  return first && first.length !== null ? new BlobReader(session, address, first, options) : undefined;
}

/** Parts of the size in which a value is sent. */
async function* resized(source: BlobSource): AsyncGenerator<Uint8Array, void> {
  for await (const part of source instanceof Uint8Array ? [source] : source) {
    for (let at = 0; at < part.length; at += writtenPart) yield part.subarray(at, at + writtenPart);
  }
}

/**
 * Writes a value. Without the last part it is too short, so that the server rejects it.
 * @internal
 */
export async function write(
  session: Session, rows: Rows, key: unknown, column: string, source: BlobSource, length: number | undefined, options: Options,
): Promise<boolean> {
  const address = Address.of(rows, key, column);
  const size = length ?? (source instanceof Uint8Array ? source.length : undefined);
  if (size === undefined) throw new BobakError("Misuse", "a stream needs its length", { table: rows.schema.name, column });
  return session.exclusive((own) => own.run(true, options.signal, (c) => using(c, async () => {
    check(c, valueParts, "values in parts");
    const table = c.table(address.schema);
    let id = 0;
    const send = async (part: Uint8Array, more: boolean) => {
      const put = (w: Writer) => address.put(w, table, size).raw(part);
      if (id) c.send(Kind.writeValue, more, id, put);
      else id = c.put(Kind.writeValue, put, more);
      await c.drain();
    };
    let last: Uint8Array | undefined;
    try {
      for await (const part of resized(source)) {
        if (last) await send(last, true);
        last = part;
      }
    } catch (error) {
      if (id && !c.broken) {
        await send(new Uint8Array(), false);
        await c.receive(id, Kind.count).catch(() => undefined);
      }
      throw error;
    }
    await send(last ?? new Uint8Array(), false);
    return answer.count((await c.receive(id, Kind.count)).body) > 0n;
  })), options.signal);
}
