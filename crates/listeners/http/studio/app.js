// The frame of the studio: signing in, the list of tables, pages by address, themes and keys.

import { actAs, actingAs, ApiError, Database, json, onSignIn, query, ROOT, send } from "./api.js";
import { dataPage } from "./data.js";
import { button, dialog, fill, h, icon, notify, report } from "./dom.js";

const PAGES = {
  data: { title: "Data", load: async () => ({ page: dataPage }) },
  sql: { title: "SQL", picture: "sql", load: () => import("./query.js") },
  live: { title: "Live changes", picture: "live", load: () => import("./live.js") },
  schema: { title: "Schema", picture: "schema", load: () => import("./schema.js") },
  admin: { title: "Administration", picture: "key", load: () => import("./admin.js") },
  server: { title: "Server and API", picture: "server", load: () => import("./server.js") },
};

const app = { session: null, databases: [], database: null, leave: null };
const tabs = new BroadcastChannel("bobak-studio");

/** The parts of an address: `#/data/app/orders?filter=…`. */
export function address(hash = location.hash) {
  const [path, parameters = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page = "data", database, table] = path.split("/").map(decodeURIComponent);
  return { page: page || "data", database, table, parameters: Object.fromEntries(new URLSearchParams(parameters)) };
}

/** An address. */
export function link(page, database, table, parameters = {}) {
  const path = [page, database, table].filter((part) => part !== undefined).map(encodeURIComponent).join("/");
  const rest = query(parameters);
  return `#/${path}${rest ? `?${rest}` : ""}`;
}

/** Changes the parameters of the address without a new page, and with a step back only if `push`. */
export function setParameters(parameters, push = false) {
  const { page, database, table } = address();
  history[push ? "pushState" : "replaceState"](null, "", link(page, database, table, parameters));
}

/** Signs in with what `credentials` holds. */
async function begin(credentials) {
  app.session = await json("POST", "session", { body: credentials, quiet: true });
  app.session = await json("GET", "session", { quiet: true });
  tabs.postMessage("signed in");
}

/** The form to sign in with. `done` is called afterwards. */
function signInForm(message, done) {
  const problem = h("p", { className: "problem", role: "alert" }, message ?? "");
  const attempt = async (event, read) => {
    event.preventDefault();
    try {
      await begin(read());
      done(true);
    } catch (error) {
      fill(problem, error.message.split("; `bobak")[0]);
    }
  };
  const token = h("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const user = h("input", { id: "user", autocomplete: "username", required: true });
  const password = h("input", { id: "password", type: "password", autocomplete: "current-password", required: true });
  return h(
    "div",
    { className: "sign-in" },
    problem,
    h("p", {}, "Open the link that ", h("code", {}, "bobak serve"), " shows in its terminal. Or sign in here:"),
    h("form", { on: { submit: (event) => attempt(event, () => ({ token: token.value })) } }, h("label", { htmlFor: "token" }, "Token"), token, h("button", { className: "primary" }, "Sign in with the token")),
    h(
      "form",
      { on: { submit: (event) => attempt(event, () => ({ user: user.value, password: password.value })) } },
      h("label", { htmlFor: "user" }, "User name"),
      user,
      h("label", { htmlFor: "password" }, "Password"),
      password,
      h("button", {}, "Sign in with the password"),
    ),
    h("p", { className: "hint" }, "Commands that make them: ", h("code", {}, "bobak token NAME --role admin"), ", ", h("code", {}, "bobak user NAME --role admin"), "."),
  );
}

/** Asks to sign in again while a page is open: what is on it stays. */
let asking = null;
onSignIn(() => {
  if (!app.session) return false;
  asking ??= dialog("Sign in again", (done) => {
    tabs.addEventListener("message", () => done(true), { once: true });
    return signInForm("The session has ended, or the server was restarted. Nothing on this page is lost.", done);
  }).finally(() => (asking = null));
  return asking;
});

async function start() {
  const code = /^#sign-in=(.+)$/.exec(location.hash)?.[1];
  let message;
  if (code) {
    // The code is used up; it should not stay in the history.
    history.replaceState(null, "", link("data"));
    try {
      await begin({ code: decodeURIComponent(code) });
    } catch (error) {
      message = error.message;
    }
  }
  const databases = json("GET", "databases", { quiet: true });
  databases.catch(() => {});
  try {
    app.session ??= await json("GET", "session", { quiet: true });
  } catch (error) {
    // The account may be gone, or the administrator be signed out.
    if (actingAs && [403, 404].includes(error.status)) return actAs();
    if (error.status !== 401) message = error.message;
    return showSignIn(message);
  }
  if (message) notify(message, { error: true });
  await showFrame(databases);
}

function showSignIn(message) {
  const form = signInForm(message, () => showFrame().catch(report));
  document.body.replaceChildren(h("main", { className: "welcome", id: "main" }, h("h1", {}, icon("table"), "Bobak Studio"), form), h("div", { id: "messages", role: "status", aria: { live: "polite" } }));
  tabs.addEventListener("message", () => app.session || location.reload(), { once: true });
}

async function showFrame(reading = json("GET", "databases", { quiet: true })) {
  const { databases } = await reading;
  app.databases = databases.map((name) => new Database(name));
  const list = h("ul", { className: "tables", id: "tables" });
  const search = h("input", {
    type: "search",
    placeholder: "Find a table",
    aria: { label: "Find a table", controls: "tables" },
    on: {
      input: () => showTables(),
      keydown: (event) => {
        const links = [...list.querySelectorAll("a")];
        if (event.key === "Enter") links[0]?.click();
        else if (event.key === "ArrowDown") links[0]?.focus();
        else return;
        event.preventDefault();
      },
    },
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const links = [...list.querySelectorAll("a")];
    (links[links.indexOf(document.activeElement) + step] ?? search).focus();
  });
  const choose = h(
    "select",
    { aria: { label: "Database" }, on: { change: () => (location.hash = link("data", choose.value)) } },
    app.databases.map(({ name }) => h("option", { value: name }, name)),
  );
  Object.assign(app, { list, search, choose });
  const pages = Object.entries(PAGES).filter(([page]) => page !== "data" && (page !== "admin" || app.session.administrator));
  app.links = pages.map(([page, { title, picture }]) => h("a", { data: { page }, href: "#/" }, icon(picture), title));
  const canCreate = !app.session.anonymous && !app.session.as && app.databases.length > 0;
  const side = h(
    "nav",
    { className: "side", id: "side", aria: { label: "Tables and pages" } },
    h("div", { className: "brand" }, h("a", { href: "#/" }, "Bobak"), choose),
    h("div", { className: "pages" }, app.links),
    h("div", { className: "find" }, search, canCreate ? button("New table from a file", () => fromFile(), { picture: "plus", quiet: true }) : null),
    list,
    h(
      "div",
      { className: "foot" },
      h("span", { className: "who", title: "Who you are" }, app.session.anonymous ? "not signed in" : app.session.name),
      button("Keys", showKeys, { kind: "plain" }),
      button("Change the theme", changeTheme, { picture: "theme", quiet: true }),
      app.session.anonymous ? button("Sign in", () => showSignIn(), { kind: "plain" }) : button("Sign out", signOut, { picture: "exit", quiet: true }),
    ),
  );
  const open = button("Menu", () => document.body.classList.toggle("side-open"), { picture: "menu", quiet: true });
  app.title = h("span", {}, "");
  document.body.replaceChildren(
    h("a", { className: "skip", href: "#main", on: { click: (event) => (event.preventDefault(), app.main.focus()) } }, "Skip to the content"),
    h("header", { className: "bar" }, open, app.title),
    side,
    (app.main = h("main", { id: "main", tabIndex: -1 })),
    h("div", { id: "messages", role: "status", aria: { live: "polite" } }),
  );
  if (actingAs) document.body.append(h("div", { className: "acting", role: "status" }, h("span", {}, `You see what ${actingAs} sees. Nothing can be changed.`), button("Stop", () => actAs(), { kind: "primary" })));
  if (canCreate) acceptFiles(side, app.main);
  addEventListener("hashchange", () => show());
  await show();
}

/** Makes a table of a file, or of one that the person chooses. */
async function fromFile(file) {
  const { createFrom } = await import("./create.js");
  const { chooseFile } = await import("./import.js");
  await (file ? createFrom(app.database, file) : chooseFile((chosen) => createFrom(app.database, chosen)));
}

/** A file that is dropped here becomes a table, unless what it is dropped on takes it. */
function acceptFiles(...places) {
  for (const place of places) {
    place.addEventListener("dragover", (event) => [...event.dataTransfer.types].includes("Files") && event.preventDefault());
    place.addEventListener("drop", (event) => {
      const [file] = event.dataTransfer.files;
      if (!file || event.defaultPrevented) return;
      event.preventDefault();
      fromFile(file).catch(report);
    });
  }
}

async function signOut() {
  await send("DELETE", "session", { quiet: true }).catch(report);
  tabs.postMessage("signed out");
  localStorage.removeItem("first");
  location.hash = "";
  location.reload();
}

/** The list of tables, with those first whose name begins with the search. */
export async function showTables(fresh = false) {
  const text = app.search.value.toLowerCase();
  const tables = await app.database.tables(fresh);
  const found = tables.filter((table) => table.name.toLowerCase().includes(text));
  found.sort((a, b) => b.name.toLowerCase().startsWith(text) - a.name.toLowerCase().startsWith(text));
  const { page, table: current } = address();
  fill(
    app.list,
    found.map(({ name, view }) =>
      h("li", {}, h("a", { href: link("data", app.database.name, name), title: name, aria: { current: page === "data" && current === name ? "page" : null } }, icon(view ? "view" : "table"), h("span", {}, name))),
    ),
    found.length ? null : h("li", { className: "hint" }, text ? "No table has this in its name." : "There are no tables yet."),
  );
}

/** How many pages were asked for: only the last one is shown. */
let asked = 0;

async function show() {
  const turn = ++asked;
  const target = address();
  document.body.classList.remove("side-open");
  const database = app.databases.find(({ name }) => name === target.database) ?? app.databases[0];
  try {
    if (!database && actingAs) return fill(app.main, h("div", { className: "empty" }, h("h1", {}, "Nothing to see"), h("p", {}, `${actingAs} has no role that grants anything, and sees no table.`)));
    if (!database) throw new ApiError(404, { detail: "you may not see any database: `bobak permissions grant` grants roles" });
    if (target.database && target.database !== database.name) throw new ApiError(404, { detail: `there is no database '${target.database}', or you may not see it` });
    app.database = database;
    app.choose.value = database.name;
    app.choose.hidden = app.databases.length < 2;
    for (const element of app.links) {
      const { page } = element.dataset;
      element.href = link(page, database.name);
      if (page === target.page) element.setAttribute("aria-current", "page");
      else element.removeAttribute("aria-current");
    }
    const tables = await database.tables();
    if (turn !== asked) return;
    if (target.page === "data" && !target.table && tables.length) {
      Object.assign(target, { database: database.name, table: tables[0].name });
      history.replaceState(null, "", link("data", target.database, target.table));
      localStorage.setItem("first", JSON.stringify([target.database, target.table].map(encodeURIComponent)));
    }
    await showTables();
    const { title, load } = PAGES[target.page] ?? PAGES.data;
    const { page } = await load();
    if (turn !== asked) return;
    app.leave?.();
    app.leave = null;
    const name = target.page === "data" ? (target.table ?? database.name) : title;
    document.title = `${name} · Bobak`;
    app.title.textContent = name;
    // A page of its own, which one that was left and becomes ready later does not fill.
    const view = h("div", { className: "view" });
    fill(app.main, view);
    const leave = await page(view, { database, target, session: app.session });
    if (turn === asked) app.leave = leave;
    else leave?.();
  } catch (error) {
    if (turn !== asked) return;
    document.title = "Error · Bobak";
    fill(app.main, h("div", { className: "empty" }, h("h1", {}, "This page can't be shown"), h("p", {}, error.message), button("Try again", () => show())));
    console.error(error);
  }
}

/** The theme: as the system's, light, or dark. */
function changeTheme() {
  const next = { "": "light", light: "dark", dark: "" }[localStorage.getItem("theme") ?? ""];
  localStorage.setItem("theme", next);
  document.documentElement.dataset.theme = next;
  notify(`Theme: ${next || "as the system's"}`);
}
document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "";

const KEYS = [
  ["/", "Find in the table"],
  ["t, Ctrl+K", "Find a table"],
  ["Arrows, Page Up, Page Down, Home, End", "Move in the grid; with Ctrl to the edge"],
  ["Enter or F2, or any letter", "Edit the cell; in the header: sort"],
  ["Shift+Enter", "Open the row"],
  ["Space, Shift+Arrows", "Select rows"],
  ["Shift+click on a column's name", "Sort descending"],
  ["Alt+Arrow Down", "The column's menu"],
  ["n", "New row"],
  ["Ctrl+Z", "Undo"],
  ["Ctrl+Enter", "Run the SQL"],
  ["Ctrl+Space", "Complete the SQL"],
  ["?", "This list"],
];

function showKeys() {
  dialog("Keys", () => h("table", { className: "keys" }, h("tbody", {}, KEYS.map(([key, what]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, what))))));
}

addEventListener("keydown", (event) => {
  const far = event.ctrlKey || event.metaKey;
  if (event.target.closest(far ? "dialog" : "input, textarea, select, dialog, .menu") || event.altKey || !app.search) return;
  if (event.key === (far ? "k" : "t")) (document.body.classList.add("side-open"), app.search.focus(), app.search.select());
  else if (event.key === "?" && !far) showKeys();
  else return;
  event.preventDefault();
});
addEventListener("unhandledrejection", (event) => report(event.reason));
document.body.dataset.root = ROOT.pathname;
start()
  .catch((error) => (document.body.append(h("div", { id: "messages" })), report(error)))
  .finally(() => delete globalThis.early);
