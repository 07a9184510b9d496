/** Typed tables in SQLite or on a server, through Bobak. See the README for the first program. */
export { version } from "./version.js";
export type { BlobReader, BlobSource, ByteStream } from "./blob.js";
export { connect, Database, Session, type CancelSignal, type Options, type Transaction } from "./database.js";
export { BobakError, type ErrorKind, type ErrorPlace, type Violation } from "./errors.js";
export type { Change, ChangeOptions, ChangePage, FollowOptions } from "./feed.js";
export type { Page } from "./page.js";
export type { IndexAdvice, PlanStep, QueryPlan } from "./plan.js";
export {
  add, and, avg, col, count, countOf, distance, max, min, not, or, rank, sum, type ColumnOfRows, type Condition,
  type Expression,
} from "./query.js";
export type { SqlParameters } from "./sql-text.js";
export { Selection, Table, type Report } from "./table.js";
export type { Metric, RowLock } from "./wire/request.js";
export { Money, newUuid, type Value } from "./values.js";
export {
  column, table, type Column, type ColumnDefinition, type ColumnOptions, type Reference, type TableSchema, type Type,
} from "./wire/schema.js";
