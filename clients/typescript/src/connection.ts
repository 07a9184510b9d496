// One connection: it sends requests, reads responses, and numbers tables and SQL texts.
import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeSync } from "node:fs";
import { connect as connectTcp, isIP } from "node:net";
import type { Readable, Writable } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { CancelSignal } from "./database.js";
import { BobakError, Garbled } from "./errors.js";
import { ErrorTail } from "./error-tail.js";
import type { Target } from "./url.js";
import { version } from "./version.js";
import * as answer from "./wire/answer.js";
import { Writer, type Stored } from "./wire/code.js";
import { foreign, head, Inbox, Kind, unanswered, type Frame } from "./wire/frame.js";
import * as request from "./wire/request.js";
import { describe, type TableSchema } from "./wire/schema.js";

/** How many SQL texts are remembered: repeated ones are prepared. */
const texts = 256;
/**
 * Milliseconds that the server may take to end a cancelled request, before the connection is given up.
 * @internal
 */
export const grace = 2_000;
/** Milliseconds that a child process may take to end after its input has ended, and to exit after its output has ended. */
const [endTimeout, reasonTimeout] = [5_000, 500];

/** What a broken connection means for the call that used it: nothing, the transaction is undone, or the result is unknown. */
export type Lost = "nothing" | "transaction" | "unknown";

/** The connection cannot be used any more. */
export class Broken extends Error {
  constructor(message: string, readonly kind: "io" | "timeout" | "garbled" | "closed", override readonly cause?: unknown) {
    super(message);
  }

  /** The error for the user. */
  tell(lost: Lost): BobakError {
    if (this.cause instanceof BobakError && lost === "nothing") return this.cause;
    const kind = lost === "unknown" ? "Unknown" : this.kind === "timeout" ? "Timeout" : "Unreachable";
    const ends = {
      nothing: "", transaction: "; the transaction was rolled back: run it again from its start",
      unknown: "; the write happened completely or not at all",
    };
    return new BobakError(kind, this.message + ends[lost], {}, this);
  }
}

/**
 * A transaction, or a call that iterates over what the program passes: it has a connection while code of the program runs.
 * @internal
 */
export interface Use {
  /** The database of the connection, or a connection that is in a call. */
  of: object;
  outer: Use | undefined;
  over: boolean;
}
const uses = new AsyncLocalStorage<Use>();

/**
 * Runs code of the program that has a connection.
 * @internal
 */
export async function using<T>(of: object, work: () => Promise<T>): Promise<T> {
  const use: Use = { of, outer: uses.getStore(), over: false };
  try {
    return await uses.run(use, work);
  } finally {
    use.over = true;
  }
}

/**
 * How many transactions and calls around the code that runs now have a connection of a database, or this connection.
 * @internal
 */
export function usesOf(of: object): number {
  let count = 0;
  for (let use = uses.getStore(); use; use = use.outer) if (use.of === of && !use.over) count++;
  return count;
}

interface Stream {
  input: Writable;
  output: Readable;
  close(): Promise<void>;
  /** Of a child process: why the stream has ended, if that is known soon. */
  reason?: () => Promise<string>;
}

export class Connection {
  static #numbers = 0;
  /** No other connection of this process has this number. */
  readonly number = ++Connection.#numbers;
  welcome: answer.Welcome = {
    version: 0, frame: 1 << 26, row: 1 << 26, requests: 1024, handles: 4096, window: 1 << 22, capabilities: 0, engine: "",
    server: "",
  };
  broken: Broken | undefined;
  readonly pending = new Set<number>();
  #inbox = new Inbox();
  #next = 1;
  #wake: (() => void) | undefined;
  #drained: (() => void) | undefined;
  #tables = new Map<TableSchema, number>();
  #texts = new Map<string, number | undefined>();
  readonly #target: Target;
  #isCalled = false;
  /** The calls that wait for their turn. */
  #turns: (() => void)[] = [];

  private constructor(target: Target, readonly stream: Stream) {
    this.#target = target;
    stream.output.on("data", (piece: Buffer) => {
      this.#inbox.feed(piece);
      this.#wake?.();
    });
    const ended = (error?: Error) => {
      if (stream.reason) {
        const explained = (why: string) => this.break(new Broken(`the server closed the connection: ${why}`, "io", error));
        void stream.reason().then(explained);
      } else if (error) this.break(new Broken(`the connection to the server broke: ${error.message}`, "io", error));
      else this.break(new Broken("the server closed the connection", "io"));
    };
    stream.output.on("error", ended).on("close", () => ended()).on("end", () => ended());
    stream.input.on("error", ended);
  }

  /** Connects, and authenticates. */
  static async open(target: Target, signal?: CancelSignal): Promise<Connection> {
    const connection = new Connection(target, await dial(target, signal));
    try {
      await connection.call("nothing", signal, async () => {
        const id = connection.put(Kind.hello, (w) =>
          request.hello(w, [1, 1], target.database, `bobak-typescript ${version}`, target.shown));
        connection.welcome = answer.welcome((await connection.receive(id, Kind.welcome)).body);
      });
      return connection;
    } catch (error) {
      await connection.close();
      const other = foreign(connection.#inbox.first);
      throw other === undefined ? error : new BobakError("Config", other, {}, error);
    }
  }

  get isIdle(): boolean {
    return !this.broken && this.pending.size === 0 && this.#inbox.isEmpty;
  }

  break(broken: Broken): void {
    this.broken ??= broken;
    this.#wake?.();
    this.#drained?.();
  }

  async close(): Promise<void> {
    this.break(new Broken("the connection is closed", "io"));
    await this.stream.close();
  }

  /**
   * Runs an operation, after those that began before. If the connection breaks, the error says what that means for the call.
   */
  async call<T>(lost: Lost, signal: CancelSignal | undefined, operation: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    if (this.#isCalled) await this.#turn(signal);
    this.#isCalled = true;
    let late: NodeJS.Timeout | undefined;
    const cancel = () => {
      for (const id of this.pending) this.send(Kind.cancel, false, id, undefined);
      late = setTimeout(() => this.break(new Broken("the server did not answer in time", "timeout")), grace);
    };
    signal?.addEventListener("abort", cancel);
    try {
      return await operation();
    } catch (error) {
      throw this.#told(error, lost, signal);
    } finally {
      signal?.removeEventListener("abort", cancel);
      clearTimeout(late);
      this.#isCalled = false;
      this.#turns.shift()?.();
    }
  }

  /** The error for the user. */
  #told(error: unknown, lost: Lost, signal: CancelSignal | undefined): unknown {
    if (error instanceof Garbled) {
      this.break(new Broken(`the server sent bytes that do not follow the protocol: ${error.message}`, "garbled", error));
      return this.broken!.tell(lost);
    }
    if (error instanceof Broken) {
      if (!signal?.aborted) return error.tell(lost);
      return lost === "unknown" ? new BobakError("Unknown", "the call was aborted; the write happened completely or not at all", {}, signal.reason) : signal.reason;
    }
    return signal?.aborted && error instanceof BobakError && error.kind === "Interrupted" ? signal.reason : error;
  }

  /** Waits until the calls that began before have ended. */
  #turn(signal: CancelSignal | undefined): Promise<void> {
    if (usesOf(this) > 0) {
      const words = "what a call iterates over has made another call in the same transaction: make an array of it first";
      throw new BobakError("Misuse", words);
    }
    return new Promise((resolve, reject) => {
      const aborted = () => {
        this.#turns = this.#turns.filter((other) => other !== turn);
        reject(signal!.reason);
      };
      const turn = () => {
        // The next call waits for this one.
        this.#isCalled = true;
        signal?.removeEventListener("abort", aborted);
        resolve();
      };
      signal?.addEventListener("abort", aborted);
      this.#turns.push(turn);
    });
  }

  /** Sends a request, and returns its number. */
  put(kind: number, put?: (w: Writer) => unknown, more = false): number {
    const id = this.#next;
    this.send(kind, more, id, put);
    // 0 is for messages that answer no request.
    this.#next = id < 0xffff_ffff ? id + 1 : 1;
    if (!unanswered.has(kind)) this.pending.add(id);
    return id;
  }

  /** Sends a frame of a request. */
  send(kind: number, more: boolean, id: number, put: ((w: Writer) => unknown) | undefined): void {
    const w = new Writer();
    put?.(w);
    if (w.length > this.welcome.frame) {
      throw new BobakError("OutOfRange", `the request has ${w.length} bytes, and the server accepts ${this.welcome.frame}`);
    }
    if (this.broken) return;
    this.stream.input.cork();
    this.stream.input.write(head(kind, more, id, w.length));
    if (w.length) this.stream.input.write(w.bytes);
    this.stream.input.uncork();
  }

  /** Waits until the other end has received most of what was sent. */
  async drain(): Promise<void> {
    const { input } = this.stream;
    if (!input.writableNeedDrain || this.broken) return;
    const timer = this.#timer();
    await new Promise<void>((resolve) => {
      this.#drained = resolve;
      input.once("drain", resolve);
    });
    clearTimeout(timer);
  }

  /** Waits for the next frame of a response; throws the error that it contains. */
  async receive(id: number, ...kinds: number[]): Promise<Frame> {
    let frame: Frame | undefined;
    while (!(frame = this.#inbox.next())) {
      if (this.broken) throw this.broken;
      await this.#arrival();
    }
    if (!frame.more) this.pending.delete(frame.id);
    if (frame.id === 0 && frame.kind === Kind.error) {
      const said = answer.error(frame.body);
      this.break(new Broken(`the server closed the connection: ${said.words}`, "closed", said));
      throw this.broken!;
    }
    if (frame.id !== id) throw new Garbled(`a response to the request ${frame.id}, which was not sent`);
    if (frame.kind === Kind.error) throw answer.error(frame.body);
    if (!kinds.includes(frame.kind)) throw new Garbled("a response of an unexpected kind");
    return frame;
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#timer();
      this.#wake = () => {
        this.#wake = undefined;
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Gives the connection up when the server has not answered in time. */
  #timer(): NodeJS.Timeout | undefined {
    const late = () => this.break(new Broken("the server did not answer in time", "timeout"));
    return this.#target.timeout ? setTimeout(late, this.#target.timeout) : undefined;
  }

  /** The number of a table, which is defined on the server before its first use. */
  table(table: TableSchema): number {
    let number = this.#tables.get(table);
    if (number === undefined) {
      if (this.#tables.size >= this.welcome.handles) this.#tables.clear();
      number = this.#tables.size;
      const given = number;
      this.put(Kind.define, (w) => w.u32(given).raw(describe(table)));
      this.#tables.set(table, number);
    }
    return number;
  }

  /** The number of a table, and a condition with the numbers of the tables that it names. */
  tables(table: TableSchema, condition: request.Placed | null): { table: number; where: request.Placed | null } {
    const number = (one: TableSchema) => this.table(one);
    // A definition may start again with number 0. All are known the second time.
    if (condition) request.numbered(condition, number);
    return { table: this.table(table), where: condition && request.numbered(condition, number) };
  }

  /** Returns a function that encodes an SQL text. A repeated text is prepared, and then has a number. */
  sql(text: string, parameters: request.Parameter[]): (w: Writer) => void {
    if (!this.#texts.has(text)) {
      if (this.#texts.size >= texts) this.#texts.clear();
      this.#texts.set(text, undefined);
      return (w) => request.sql(w, text, parameters);
    }
    let number = this.#texts.get(text);
    if (number === undefined) {
      const given = [...this.#texts.values()].filter((other) => other !== undefined).length;
      this.put(Kind.prepare, (w) => w.u32(given).text(text));
      this.#texts.set(text, (number = given));
    }
    const given = number;
    return (w) => request.statement(w, given, parameters);
  }
}

function certificates(file: string): Buffer {
  try {
    const found = readFileSync(file);
    if (found.includes("-----BEGIN ")) return found;
  } catch (error) {
    throw new BobakError("Config", `the certificates to trust cannot be read: ${error}`, {}, error);
  }
  throw new BobakError("Config", `ca: there are no certificates in ${file}`);
}

/** The errors that versions of OpenSSL report if the response is not TLS. */
const notTls = /wrong version number|packet length too long|record layer failure/i;

async function dial(target: Target, signal?: CancelSignal): Promise<Stream> {
  const { transport } = target;
  if ("program" in transport) return start(transport.program);
  const place = "path" in transport ? transport.path : `${transport.host}:${transport.port}`;
  const secured = "tls" in transport && transport.tls;
  const ca = target.ca === undefined ? {} : { ca: certificates(target.ca) };
  const socket = secured
    // An address is no server name.
    ? connectTls({ host: transport.host, port: transport.port, ...(isIP(transport.host) ? {} : { servername: transport.host }), ...ca })
    : "path" in transport ? connectTcp({ path: transport.path }) : connectTcp({ host: transport.host, port: transport.port, noDelay: true });
  const late = setTimeout(() => socket.destroy(new Error("it did not answer in time")), target.connectTimeout);
  const aborted = () => socket.destroy(new Error("the call was aborted"));
  signal?.addEventListener("abort", aborted);
  try {
    await once(socket, secured ? "secureConnect" : "connect");
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    if (!secured || !notTls.test(String(error))) throw unreachable(place, error);
    const message = `${place} does not speak TLS: remove tls=on, or start the server with a certificate`;
    throw new BobakError("Config", message, {}, error);
  } finally {
    clearTimeout(late);
    signal?.removeEventListener("abort", aborted);
  }
  return { input: socket, output: socket, close: async () => void socket.destroy() };
}

/** Starts a program. Its standard error is copied to that of this process. */
async function start([program, ...words]: string[]): Promise<Stream> {
  const child = spawn(program!, words, { stdio: ["pipe", "pipe", "pipe"] });
  const last = new ErrorTail(program!);
  child.stderr.on("data", (piece: Buffer) => {
    last.add(piece);
    try {
      writeSync(2, piece);
    } catch {
      // The program continues even if this process has no standard error.
    }
  });
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()).once("error", () => resolve()));
  const silent = new Promise<void>((resolve) => child.once("close", () => resolve()).once("error", () => resolve()));
  try {
    await once(child, "spawn");
  } catch (error) {
    throw unreachable(program!, error);
  }
  const close = async () => {
    // The program ends when its input ends.
    child.stdin.end();
    await within(endTimeout, gone, () => child.kill("SIGKILL"));
    await gone;
    // Another process may still have it open.
    child.stderr.destroy();
  };
  const reason = async () => {
    await within(reasonTimeout, silent);
    return last.tell(child.exitCode, child.signalCode);
  };
  return { input: child.stdin, output: child.stdout, close, reason };
}

/** Waits for an event, at most this number of milliseconds; calls `late` if it did not happen. */
async function within(milliseconds: number, event: Promise<void>, late?: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      late?.();
      resolve();
    }, milliseconds);
  });
  await Promise.race([event, over]);
  clearTimeout(timer);
}

function unreachable(place: string, error: unknown): BobakError {
  return new BobakError("Unreachable", `could not reach ${place}: ${error instanceof Error ? error.message : error}`, {}, error);
}
