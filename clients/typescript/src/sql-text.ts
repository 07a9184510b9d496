/** SQL texts with parameters by name, and with lists of values. The server takes parameters by position, one value each. */

import { BobakError } from "./errors.js";
import { parameter } from "./values.js";
import type { Parameter } from "./wire/request.js";

/** The values of an SQL text: an array for each `?` in order, or an object for each `:name`. An array among them has the values of `IN (?)`. */
export type SqlParameters = readonly unknown[] | Readonly<Record<string, unknown>>;

/** A string, a quoted name, a comment or a cast, in which nothing is a parameter; or, in the last group, a parameter. */
const token = /'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|`[^`]*(?:`|$)|\[[^\]]*(?:\]|$)|--[^\n]*|\/\*[^]*?(?:\*\/|$)|\$(\w*)\$[^]*?(?:\$\1\$|$)|::|(:[\p{L}_][\p{L}\p{N}_]*|\?)/gu;

interface Found {
  /** `?`, or `:name`. */
  text: string;
  start: number;
}

/**
 * The text with a `?` for each value, and the values in their order.
 * @internal
 */
export function bindSql(text: string, values: SqlParameters): { text: string; parameters: Parameter[] } {
  if (Array.isArray(values)) {
    if (!values.some(Array.isArray)) return { text, parameters: values.map(one) };
    const found = find(text);
    if (found.length !== values.length) throw misuse(`the text has ${found.length} parameters, and ${values.length} are given`);
    return write(text, found, values);
  }
  if (values === null || typeof values !== "object" || Object.getPrototypeOf(values) !== Object.prototype) {
    throw misuse("parameters are an array, in the order of the question marks, or an object of values by name");
  }
  const named = values as Record<string, unknown>, found = find(text);
  if (found.some((one) => one.text === "?")) throw misuse("the text has a parameter ?, and the values have names: name each in the text");
  for (const name of Object.keys(named)) {
    if (!found.some((one) => one.text === `:${name}`)) throw misuse(`the text has no parameter :${name}`);
  }
  for (const one of found) {
    if (!Object.hasOwn(named, one.text.slice(1))) throw misuse(`the parameter ${one.text} of the text has no value`);
  }
  return write(text, found, found.map((one) => named[one.text.slice(1)]));
}

function find(text: string): Found[] {
  const found: Found[] = [];
  for (const match of text.matchAll(token)) {
    if (match[2] !== undefined) found.push({ text: match[2], start: match.index });
    else if (isReadDifferently(match[0])) {
      throw new BobakError("Unsupported", "databases differ in where the strings of this text end: give values by position, not by name or in lists, or pass the string as a parameter, too");
    }
  }
  return found;
}

/** Whether other databases see no string here, or one that ends elsewhere. */
function isReadDifferently(quoted: string): boolean {
  return /^['"]/.test(quoted) ? quoted.includes("\\") : /^[[$]/.test(quoted) && /[?:']/.test(quoted);
}

function write(text: string, found: Found[], values: readonly unknown[]): { text: string; parameters: Parameter[] } {
  const parameters: Parameter[] = [];
  let [out, at] = ["", 0];
  found.forEach((place, number) => {
    const value = values[number];
    out += text.slice(at, place.start);
    at = place.start + place.text.length;
    if (!Array.isArray(value)) {
      out += "?";
      parameters.push(one(value, number));
      return;
    }
    const before = /(\bnot\s+)?\bin\s*\(\s*$/i.exec(text.slice(0, place.start)), after = /^\s*\)/.exec(text.slice(at));
    if (!before || !after) throw misuse("a list of values stands alone in the parentheses of IN: `IN (?)`");
    if (value.length) {
      out += value.map(() => "?").join(", ");
      parameters.push(...value.map(one));
    } else {
      // NULL is neither equal to a value nor different from it.
      out += `NULL${after[0]}${before[1] ? " IS NOT FALSE" : " IS TRUE"}`;
      at += after[0].length;
    }
  });
  return { text: out + text.slice(at), parameters };
}

/** Rejects undefined: otherwise a misspelt field would be NULL. */
function one(value: unknown, place: number): Parameter {
  if (value === undefined) throw misuse(`parameter ${place + 1} is undefined; NULL is null`);
  return parameter(value);
}

function misuse(message: string): BobakError {
  return new BobakError("Misuse", message);
}
