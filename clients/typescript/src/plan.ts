// Plans of queries: how the engine would run them, and which index would help.
import { check } from "./blob.js";
import type { Ask, Session } from "./database.js";
import { Garbled } from "./errors.js";
import * as answer from "./wire/answer.js";
import { Kind } from "./wire/frame.js";

/** The capability of servers that return plans. */
const explains = 1 << 24;

/** A step of a plan. */
export interface PlanStep {
  /** What the engine says about the step. */
  text: string;
  /** How deep it is in the tree of steps: a step belongs to the last one before it that is higher. */
  depth: number;
  /** The table that it reads. */
  table: string | null;
  /** "scan" if it reads all rows of the table, "search" if it reads those that it needs. */
  access: "scan" | "search" | null;
  /** The index that it uses, if the engine names it. */
  index: string | null;
  /** How many rows the engine expects. */
  rows: number | null;
}

/** An index that would help a query. */
export interface IndexAdvice {
  /** The sentence. */
  message: string;
  table: string;
  /** The columns of the index, in its order. */
  columns: string[];
}

/** How the engine would run a query. */
export interface QueryPlan {
  steps: PlanStep[];
  /** The indexes that would help; none if the query reads by an index, or needs all rows. */
  advice: IndexAdvice[];
}

/**
 * Requests the plan of a query.
 * @internal
 */
export async function explain(session: Session, ask: Ask): Promise<QueryPlan> {
  return session.run(false, undefined, async (c) => {
    check(c, explains, "plans");
    const rows = answer.rows((await c.receive(c.put(Kind.explain, ask(c)), Kind.rows)).body);
    const plan: QueryPlan = { steps: [], advice: [] };
    for (const row of rows) {
      if (typeof row[0] === "bigint" && row.length >= 7) {
        const [depth, text, table, , access, index, count] = row as [bigint, string, string | null, unknown, bigint | null, string | null, bigint | null];
        const word = access === 0n ? "scan" : access === 1n ? "search" : null;
        plan.steps.push({ text, depth: Number(depth), table, access: word, index, rows: count === null ? null : Number(count) });
      } else if (typeof row[0] === "string") {
        const [table, message, ...columns] = row as string[];
        plan.advice.push({ message: message!, table: table!, columns });
      } else throw new Garbled("a row of a plan is neither a step nor an advice");
    }
    return plan;
  });
}
