// URLs and their settings.
import { BobakError } from "./errors.js";
import type { Credentials } from "./wire/request.js";

/** A server's transport and address, with settings of connections; times are in milliseconds. */
export interface Target {
  transport: { host: string; port: number; tls: boolean } | { path: string } | { program: string[] };
  database: string;
  shown: Credentials;
  timeout: number;
  connectTimeout: number;
  connections: number;
  ca?: string | undefined;
}

const config = (words: string) => new BobakError("Config", words);

/** Reads a URL. Messages never show what follows the question mark. */
export function parseUrl(url: string): Target {
  const [place = "", query = ""] = url.split(/\?(.*)/s);
  const [scheme = "", rest = ""] = place.split(/:(.*)/s);
  const settings = new Map<string, string>();
  for (const part of query.split("&").filter(Boolean)) {
    const [name = "", value] = part.split(/=(.*)/s);
    if (value === undefined || settings.has(name)) {
      // A password may have a question mark.
      throw config(`${/^\w+$/.test(name) ? `'${name}'` : "a setting"} has no value, or occurs twice`);
    }
    settings.set(name, decode(value));
  }
  const take = (name: string) => {
    const value = settings.get(name);
    settings.delete(name);
    return value;
  };
  const number = (name: string, otherwise: number) => {
    const value = take(name) ?? String(otherwise);
    if (!/^\d{1,9}$/.test(value)) throw config(`${name} is a number, not '${value}'`);
    return Number(value);
  };
  const [transport, database] = transportOf(scheme, rest, take);
  const shown = { token: take("token"), user: take("user"), password: take("password") };
  if ((shown.user === undefined) !== (shown.password === undefined)) throw config("user and password are required together");
  const target: Target = {
    transport, database, shown, timeout: number("timeout", 60_000), connectTimeout: number("connect_timeout", 10_000),
    connections: Math.max(1, number("connections", 64)), ca: take("ca"),
  };
  for (const name of settings.keys()) {
    throw config(`unknown setting '${name}'; the settings are: token, user, password, timeout, connect_timeout, connections, tls, ca, db`);
  }
  return target;
}

function transportOf(scheme: string, rest: string, take: (name: string) => string | undefined): [Target["transport"], string] {
  if (scheme === "bobak") {
    const [host = "", database = ""] = decode(rest).replace(/^\/\//, "").split(/\/(.*)/s);
    const [, name = host, port = "4715"] = /^(.*?)(?::(\d{1,5}))?$/.exec(host) ?? [];
    // Messages show the host, so it must not contain a password.
    if (rest.includes("@") || host.includes("@")) {
      throw config("the user and the password are settings; write bobak://HOST:PORT/DATABASE?user=…&password=…");
    }
    if (Number(port) > 65535 || /^[^:]*:[^:]*$/.test(name)) throw config("the port is no number up to 65535");
    const tls = take("tls") ?? "off";
    if (!name) throw config("the URL has no host; write bobak://HOST:PORT/DATABASE");
    if (tls !== "on" && tls !== "off") throw config(`tls is one of on, off, not '${tls}'`);
    return [{ host: name.replace(/^\[|\]$/g, ""), port: Number(port), tls: tls === "on" }, database];
  }
  const database = take("db") ?? "";
  if (scheme === "bobak+unix" && rest) return [{ path: decode(rest) }, database];
  const program = rest.split(/\s+/).filter(Boolean).map(decodeWord);
  if (scheme === "bobak+stdio" && program.length) return [{ program }, database];
  throw config("the URL has no transport; the URLs are: bobak://HOST:PORT/DATABASE, bobak+unix:PATH, bobak+stdio:PROGRAM ARGUMENTS");
}

/** Rejects quotes: without a shell, a quoted word would name another file. */
function decodeWord(word: string): string {
  if (/^["']/.test(word)) throw config(`the word ${word} begins with a quote; write a space as %20, without quotes`);
  return decode(word);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw config("a percent sign without two digits");
  }
}
