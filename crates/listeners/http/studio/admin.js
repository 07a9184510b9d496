// The page of the administrator: accounts, backups, replication, load and the audit log.

import { actAs, json, ROOT, send } from "./api.js";
import { Statements } from "./statements.js";
import { ask, button, count, dialog, fill, h, icon, menu, notify, report, save } from "./dom.js";
import { exactInteger, exactJson, sqlText } from "./values.js";

const PERMISSIONS = ["read", "insert", "update", "delete", "sql", "schema"];

export async function page(main, { database, session }) {
  if (!session.administrator) {
    fill(main, h("div", { className: "empty" }, h("h1", {}, "For administrators"), h("p", {}, "Sign in by the link that ", h("code", {}, "bobak serve"), " shows, or with an account that has the role ", h("code", {}, "admin"), ".")));
    return;
  }
  const sections = [new Accounts(database), new Backups(database), new Server(), new StatementTimes(database), new Sizes(database), new Log()];
  fill(main, h("div", { className: "page admin" }, h("header", { className: "title" }, h("h1", {}, icon("key"), "Administration")), sections.map((section) => section.element)));
  await Promise.all(sections.map((section) => section.show()));
}

/** A part of the page, which shows its own errors. */
class Section {
  constructor(title, ...tools) {
    this.body = h("div", { className: "section-body" });
    this.element = h("section", {}, h("h2", {}, title, h("span", { className: "space" }), tools), this.body);
  }

  async show() {
    try {
      await this.load();
    } catch (error) {
      fill(this.body, h("p", { className: "problem" }, error.message));
    }
  }

  /** Does something, and shows the result. */
  async act(path, method, body, message) {
    const response = await send(method, path, body === undefined ? {} : { body });
    await this.show();
    if (message) notify(message);
    return response.status === 204 ? undefined : response.json();
  }
}

const table = (label, head, rows) => h("div", { className: "scroll", tabIndex: 0, role: "region", aria: { label } }, h("table", { className: "plain" }, h("thead", {}, h("tr", {}, head.map((text) => h("th", { scope: "col" }, text || h("span", { className: "hidden" }, "Change"))))), h("tbody", {}, rows)));
const row = (name, ...cells) => h("tr", {}, h("th", { scope: "row" }, name), cells.map((cell) => h("td", {}, cell)));
const bytes = (number) => (number == null ? "unknown" : number < 1 << 20 ? `${(number / 1024).toFixed(number < 10_240 ? 1 : 0)} KiB` : number < 1 << 30 ? `${(number / (1 << 20)).toFixed(1)} MiB` : `${(number / (1 << 30)).toFixed(2)} GiB`);
const time = (text) => String(text).slice(0, 19).replace("T", " ");
const field = (text, input, hint) => {
  input.id ||= `field-${Math.random().toString(36).slice(2, 8)}`;
  return h("div", { className: "field" }, h("label", { htmlFor: input.id }, text), h("span", { className: "hint" }, hint ?? ""), input);
};

/** The value of a variable, as the access file has it. */
const variableText = (value) => (typeof value === "string" ? sqlText(value) : (value.rawJSON ?? String(value)));

/** Reads `name = 'text'` or `name = 7`. */
function variable(line) {
  const at = line.indexOf("=");
  if (at < 1) throw new Error(`“${line}” is not of the form name = value.`);
  const name = line.slice(0, at).trim();
  const value = line.slice(at + 1).trim();
  if (/^'(?:[^']|'')*'$/.test(value)) return [name, value.slice(1, -1).replaceAll("''", "'")];
  if (/^-?(0|[1-9]\d*)$/.test(value)) return [name, exactInteger(value)];
  throw new Error(`${name}: expected a whole number, or a text in single quotes, such as ${sqlText(value.replace(/^'|'$/g, ""))}.`);
}

/** A form in a dialog. `apply` may throw an error, which is shown in it. */
function form(title, label, fields, apply) {
  return dialog(title, (close) => {
    const problem = h("p", { className: "problem", role: "alert" });
    const submit = async (event) => {
      event.preventDefault();
      try {
        close((await apply()) ?? true);
      } catch (error) {
        fill(problem, error.message);
      }
    };
    return h("form", { className: "form", on: { submit } }, fields, problem, h("footer", {}, h("button", { className: "primary" }, label)));
  });
}

class Accounts extends Section {
  constructor(database) {
    super("Who may do what", button("New user", () => this.user(), { picture: "plus" }), button("New token", () => this.token(), { picture: "plus" }), button("New role", () => this.role(), { picture: "plus" }));
    this.database = database;
  }

  async load() {
    this.access = exactJson(await (await send("GET", "access", { quiet: true })).text());
    const { roles, users, tokens, file } = this.access;
    const account = (kind, one) => row(one.name, kind, one.roles.join(", ") || "none", one.expires ? time(one.expires) : "never", button(`More for ${kind} ${one.name}`, (event) => menu(event.currentTarget, [["Try as this account", () => actAs(`${kind} ${one.name}`)], ["Change…", () => this[kind](one)], null, ["Remove…", () => this.remove(`access/${kind}s`, one.name)]]), { picture: "menu", quiet: true }));
    const role = ({ name, grants }) => row(name, h("ul", { className: "grants" }, grants.map((grant) => h("li", {}, h("code", {}, grant)))), button(`More for role ${name}`, (event) => menu(event.currentTarget, [["Change…", () => this.role({ name, grants })], null, ["Remove…", () => this.remove("access/roles", name)]]), { picture: "menu", quiet: true }));
    fill(
      this.body,
      users.length + tokens.length ? table("Accounts", ["Name", "Kind", "Roles", "Expires", ""], [...users.map((one) => account("user", one)), ...tokens.map((one) => account("token", one))]) : h("p", { className: "hint" }, "There are no users and no tokens. A browser that opens the sign-in link may do everything."),
      roles.length ? table("Roles", ["Role", "Grants", ""], roles.map(role)) : h("p", { className: "hint" }, "There are no roles besides ", h("code", {}, "admin"), ", which may do everything."),
      this.access.public ? h("p", {}, "This server is public: everybody reads what the role ", h("code", {}, "public"), " grants. ", button("Try as everybody", () => actAs("public"))) : null,
      h("p", { className: "hint" }, file ? ["They are kept in ", h("code", {}, file), ", which may also be edited; changes hold at once."] : ["Start the server with ", h("code", {}, "--access-file FILE"), " to change them here."]),
    );
  }

  /** The roles to choose from, and inputs that all accounts have. */
  common(one) {
    const names = ["admin", ...this.access.roles.map(({ name }) => name)];
    const boxes = names.map((name) => h("input", { type: "checkbox", value: name, checked: one?.roles.includes(name) ?? false }));
    const expires = h("input", { type: "date", value: one?.expires?.slice(0, 10) ?? "" });
    const variables = h("textarea", { rows: 1, spellcheck: false, placeholder: "tenant = 7", value: Object.entries(one?.variables ?? {}).map(([name, value]) => `${name} = ${variableText(value)}`).join("\n") });
    return {
      fields: [h("fieldset", { className: "boxes" }, h("legend", {}, "Roles"), boxes.map((input) => h("label", {}, input, input.value))), field("Expires", expires, "never, if empty"), h("details", {}, h("summary", {}, "Variables of row rules"), field("Name = value, one per line", variables, "texts in single quotes, as region = 'north'"))],
      read: () => ({
        roles: boxes.filter((input) => input.checked).map((input) => input.value),
        expires: expires.value === "" ? null : expires.value === one?.expires?.slice(0, 10) ? one.expires : expires.value,
        variables: Object.fromEntries(variables.value.split("\n").filter((line) => line.trim()).map(variable)),
      }),
    };
  }

  async user(one) {
    const name = h("input", { value: one?.name ?? "", required: true, readOnly: Boolean(one), autocomplete: "off" });
    const password = h("input", { type: "password", autocomplete: "new-password", minLength: 12, required: !one });
    const common = this.common(one);
    await form(one ? `Change ${one.name}` : "New user", "Save", [field("Name", name), field("Password", password, one ? "stays, if empty" : "at least 12 characters"), ...common.fields], async () => {
      await this.act(`access/users/${encodeURIComponent(name.value.trim())}`, "PUT", { ...(password.value ? { password: password.value } : {}), ...common.read() }, `${name.value.trim()} may sign in.`);
    });
  }

  async token(one) {
    const name = h("input", { value: one?.name ?? "", required: true, readOnly: Boolean(one), autocomplete: "off" });
    const renew = h("input", { type: "checkbox" });
    const common = this.common(one);
    let made;
    await form(one ? `Change ${one.name}` : "New token", "Save", [field("Name", name), one ? h("label", { className: "check" }, renew, "Replace the token by a new one") : null, ...common.fields], async () => {
      made = await this.act(`access/tokens/${encodeURIComponent(name.value.trim())}`, "PUT", { renew: renew.checked, ...common.read() });
    });
    if (made?.token) await dialog("The token", () => h("div", {}, h("p", {}, "It is shown this once, and stored nowhere:"), h("pre", { className: "code token", tabIndex: 0, role: "region", aria: { label: "Token" } }, made.token), h("footer", {}, button("Copy", () => navigator.clipboard.writeText(made.token).then(() => notify("Copied."), report)))));
  }

  async role(one) {
    const tables = (await this.database.tables()).map(({ name }) => name);
    const name = h("input", { value: one?.name ?? "", required: true, readOnly: Boolean(one), autocomplete: "off" });
    const grants = h("textarea", { rows: 4, spellcheck: false, value: one?.grants.join("\n") ?? "", required: true });
    const boxes = PERMISSIONS.map((value) => h("input", { type: "checkbox", value, checked: value === "read" }));
    const chosen = h("select", { multiple: true, size: Math.min(6, tables.length + 1) }, h("option", { value: "*" }, "all tables"), tables.map((table) => h("option", { value: table }, table)));
    const rule = h("input", { spellcheck: false, autocomplete: "off", placeholder: "such as owner = :user" });
    const add = () => {
      const named = [...chosen.selectedOptions].map(({ value }) => (value === "*" || /^[A-Za-z_]\w*$/.test(value) ? value : `"${value.replaceAll('"', '""')}"`));
      const words = boxes.filter((input) => input.checked).map((input) => input.value);
      if (!named.length || !words.length) return notify("Choose permissions and tables.", { error: true });
      const line = `${words.join(", ")} on ${named.join(", ")}${rule.value.trim() ? ` where ${rule.value.trim()}` : ""}`;
      grants.value = [...grants.value.split("\n").filter((text) => text.trim()), line].join("\n");
    };
    const builder = h("fieldset", { className: "builder" }, h("legend", {}, "Add a grant"), h("div", { className: "boxes" }, boxes.map((input) => h("label", {}, input, input.value))), field("Tables", chosen, "several with Ctrl"), field("Only rows where", rule, "all, if empty"), button("Add the grant", add, { picture: "plus" }));
    await form(one ? `Change the role ${one.name}` : "New role", "Save", [field("Name", name), builder, field("Grants", grants, "one per line")], async () => {
      const lines = grants.value.split("\n").map((line) => line.trim()).filter(Boolean);
      await this.act(`access/roles/${encodeURIComponent(name.value.trim())}`, "PUT", { grants: lines }, `The role ${name.value.trim()} is saved.`);
    });
  }

  async remove(path, name) {
    if (await ask("Remove", `Remove ${name}? What it may do now ends at once.`, [["Keep it", false], ["Remove it", true, "danger"]])) await this.act(`${path}/${encodeURIComponent(name)}`, "DELETE", undefined, `${name} is removed.`).catch(report);
  }
}

class Backups extends Section {
  constructor(database) {
    const now = button("Back up now", (event) => this.make(event.currentTarget), { picture: "plus", kind: "primary" });
    super("Backups", now);
    this.now = now;
    this.now.hidden = true;
    this.path = `${database.path}backups`;
  }

  async load() {
    const { possible, folder, archive, backups } = await json("GET", this.path, { quiet: true });
    this.now.hidden = !possible;
    if (!possible) return fill(this.body, h("p", { className: "hint" }, "Bobak makes no backups of this database: its own tools do, such as ", h("code", {}, "pg_dump"), " and ", h("code", {}, "mariadb-dump"), "."));
    this.archive = archive;
    const one = (backup) =>
      row(
        backup.name,
        time(backup.at),
        bytes(backup.bytes),
        h("div", { className: "tools" }, button(`Verify ${backup.name}`, () => this.verify(backup), { title: "Read all of it" }), button(`Restore ${backup.name}`, () => this.restore(backup)), h("a", { className: "button", download: backup.name, href: new URL(`${this.path}/${encodeURIComponent(backup.name)}`, ROOT).href, title: "Download" }, icon("down"), h("span", { className: "hidden" }, `Download ${backup.name}`))),
      );
    fill(
      this.body,
      backups.length ? table("Backups", ["Backup", "Made", "Size", ""], backups.map(one)) : h("p", { className: "hint" }, "There are none yet. Each is verified when it is made."),
      h("p", { className: "hint" }, folder ? ["They are in ", h("code", {}, folder), ". ", h("code", {}, "bobak serve --backup FOLDER"), " makes one every hour", archive ? "" : [", and ", h("code", {}, "--archive FOLDER"), " with ", h("code", {}, "--track TABLE"), " lets you restore any moment between them"], "."] : ["Start the server with ", h("code", {}, "--backup FOLDER"), "."]),
    );
    for (const element of this.body.querySelectorAll("td button")) element.textContent = element.textContent.split(" ")[0];
  }

  async make(control) {
    control.disabled = true;
    try {
      const made = await this.act(this.path, "POST");
      notify(`${made.name}: ${count(made.rows)} rows of ${made.tables} tables, verified.`);
    } catch (error) {
      report(error);
    } finally {
      control.disabled = false;
    }
  }

  async verify({ name }) {
    try {
      const found = await json("POST", `${this.path}/${encodeURIComponent(name)}/verify`);
      notify(found.valid ? `${name} is whole: ${count(found.rows)} rows of ${found.tables} tables.` : `${name} is damaged: ${found.problem}`, { error: !found.valid });
    } catch (error) {
      report(error);
    }
  }

  async restore({ name, at }) {
    const until = h("input", { type: "datetime-local", step: 1, disabled: !this.archive, min: at.slice(0, 19) });
    let restored;
    await form("Restore", "Restore to a new file", [h("p", {}, `${name} is restored to a new file. The database that is served stays as it is.`), field("Up to (UTC)", until, this.archive ? "the moment of the backup, if empty" : "needs --archive")], async () => {
      restored = await json("POST", `${this.path}/${encodeURIComponent(name)}/restore`, { body: until.value ? { until: `${until.value.length === 16 ? `${until.value}:00` : until.value}Z` } : {} });
    });
    if (restored) await dialog("Restored", () => h("div", {}, h("p", {}, `${count(restored.rows)} rows of ${restored.tables} tables${restored.changes === undefined ? "" : `, and ${count(restored.changes)} changes after the backup`}. Look at them with`), h("pre", { className: "code", tabIndex: 0, role: "region", aria: { label: "Command" } }, restored.command)));
  }
}

class Server extends Section {
  constructor() {
    super("Load, quotas and replicas");
  }

  async load() {
    const status = await json("GET", "status", { quiet: true });
    const share = ({ used, max }) => [`${count(used)} of ${count(max)} `, h("meter", { min: 0, max, value: used, aria: { label: `${used} of ${max}` } })];
    const uptime = status.uptime_seconds < 7_200 ? `${Math.floor(status.uptime_seconds / 60)} minutes` : `${Math.floor(status.uptime_seconds / 3_600)} hours`;
    const values = [
      ["Version", status.version],
      ["Running for", uptime],
      ["Memory", bytes(status.memory_bytes)],
      ["Connections", share(status.connections)],
      ["Imports, exports and batches", share(status.streams)],
      ["Readers of changes", share(status.subscriptions)],
      ["Browsers signed in", count(status.sessions)],
      ["Share of one client", `${status.client_quota_percent} %, ${status.requests_per_second_of_a_client ?? "any number of"} requests per second`],
      ["Rejected credentials", count(status.rejected_credentials)],
      ["Too many requests", count(status.rate_limited)],
    ];
    const readers = status.databases.flatMap(({ name, replication: { replica, consumers } }) => [
      ...(replica ? [row(name, `a replica, ${replica.complete ? "complete" : "still being copied"}`, replica.changed_at ? `last change ${time(replica.changed_at)}, ${lag(replica.changed_at)} ago` : "no change yet")] : []),
      ...consumers.map((one) => row(name, `read by ${one.name}`, one.behind ? `${count(one.behind)} changes behind` : "up to date")),
    ]);
    fill(
      this.body,
      h("dl", { className: "values" }, values.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
      readers.length ? table("Replicas and readers", ["Database", "Who", "Lag"], readers) : h("p", { className: "hint" }, "No database here is a replica, and none has named readers: ", h("code", {}, "bobak replicate SOURCE TARGET"), " makes a replica."),
    );
  }
}

const lag = (text) => {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(text)) / 1_000));
  return seconds < 120 ? `${seconds} seconds` : seconds < 7_200 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3_600)} hours`;
};

class StatementTimes extends Section {
  constructor(database) {
    const list = new Statements(database, () => this.show());
    super("Slowest and most frequent statements", h("label", { className: "sort" }, "Sort by ", list.choose), button("Read again", () => this.show()));
    this.list = list;
  }

  async load() {
    try {
      await this.list.load(this.body);
    } catch (error) {
      if (error.status !== 501) throw error;
      fill(this.body, h("p", { className: "hint" }, "The server was started with ", h("code", {}, "--without-statements"), "."));
    }
  }
}

class Sizes extends Section {
  constructor(database) {
    super("Sizes of tables");
    this.database = database;
  }

  async load() {
    const { tables } = await json("GET", `${this.database.path}sizes`, { quiet: true });
    if (tables.every((one) => one.bytes === null)) return fill(this.body, h("p", { className: "hint" }, "This engine does not say how large its tables are."));
    tables.sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
    const most = tables[0]?.bytes || 1;
    fill(this.body, table("Sizes", ["Table", "With its indexes", "Share"], tables.map((one) => row(one.name, bytes(one.bytes), h("meter", { min: 0, max: most, value: one.bytes ?? 0, aria: { label: bytes(one.bytes) } })))));
  }
}

class Log extends Section {
  constructor() {
    super("Audit log", button("Read again", () => this.show()), button("Save", () => save("audit.log", "text/plain", this.text ?? ""), { picture: "down" }));
  }

  async load() {
    const { lines } = await json("GET", "log", { quiet: true });
    this.text = lines.map(({ at, line }) => `${at} ${line}\n`).reverse().join("");
    fill(this.body, lines.length ? h("div", { className: "log", tabIndex: 0, role: "region", aria: { label: "Audit log" } }, h("ol", {}, lines.slice(0, 200).map(({ at, line }) => h("li", {}, h("time", {}, time(at)), " ", line)))) : h("p", { className: "hint" }, "Nothing yet: rejected and disconnected clients, and what administrators do."));
  }
}
