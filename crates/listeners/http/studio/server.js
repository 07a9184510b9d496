// The page of the server: who you are, requests so far, and the last requests as programs make them.

import { requests, ROOT, send } from "./api.js";
import { button, count, fill, h, icon, notify, report } from "./dom.js";

const LANGUAGES = { curl: asCurl, Python: asPython, TypeScript: asTypeScript, Go: asGo, Rust: asRust };

export async function page(main, { session, database }) {
  const numbers = h("div", {});
  const list = h("select", { size: Math.min(10, Math.max(2, requests.length)), aria: { label: "The last requests" } }, requests.map((one, index) => h("option", { value: String(index) }, `${one.method} ${decodeURIComponent(one.url.slice(ROOT.href.length - 1)).slice(0, 120)}`)));
  const language = h("select", { id: "language" }, Object.keys(LANGUAGES).map((name) => h("option", {}, name)));
  language.value = localStorage.getItem("language") ?? "curl";
  const code = h("pre", { className: "code", tabIndex: 0, role: "region", aria: { label: "Program" } });
  const show = () => {
    localStorage.setItem("language", language.value);
    const request = requests[Number(list.value)];
    fill(code, request ? LANGUAGES[language.value](request) : "Open a table or run a statement first: its request is shown here.");
  };
  list.addEventListener("change", show);
  language.addEventListener("change", show);
  if (requests.length) list.value = "0";
  show();
  fill(
    main,
    h(
      "div",
      { className: "page server" },
      h("header", { className: "title" }, h("h1", {}, icon("server"), "Server and API")),
      h("section", {}, h("h2", {}, "You"), h("p", {}, session.anonymous ? "You are not signed in: this server is public." : `You are ${session.name}. `, ` SQL: ${{ none: "off", read: "statements that read", write: "all statements" }[session.sql]}.`), session.administrator ? h("p", { className: "hint" }, "Users, tokens and roles are on the page Administration.") : null),
      h("section", {}, h("h2", {}, "The request just made"), h("p", { className: "hint" }, "Everything here uses the public HTTP API. A program sends a token: ", h("code", {}, "bobak token NAME --role ROLE"), "."), requests.length ? list : null, h("div", { className: "tools" }, h("label", { htmlFor: "language" }, "Language"), language, button("Copy", () => navigator.clipboard.writeText(code.textContent).then(() => notify("Copied."), report))), code, h("p", {}, h("a", { href: new URL(`${database.path}openapi.json`, ROOT).href, target: "_blank", rel: "noreferrer" }, "The OpenAPI document"))),
      h("section", {}, h("h2", {}, "Requests so far"), numbers),
    ),
  );
  try {
    const text = await (await send("GET", "metrics", { quiet: true })).text();
    const rows = [...text.matchAll(/^bobak_http_requests_total\{route="([^"]*)",method="([^"]*)",status="([^"]*)"\} (\d+)$/gm)].map(([, ...parts]) => parts);
    rows.sort((a, b) => Number(b[3]) - Number(a[3]));
    const head = ["Route", "Method", "Status", "Requests"].map((name) => h("th", { scope: "col" }, name));
    fill(numbers, h("div", { className: "scroll", tabIndex: 0, role: "region", aria: { label: "Requests" } }, h("table", { className: "plain" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, index) => h("td", { className: index === 3 ? "number" : "" }, index === 3 ? count(cell) : cell))))))));
  } catch (error) {
    fill(numbers, h("p", { className: "problem" }, error.message));
  }
}

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const headersOf = (request) => ({ ...(request.body === undefined ? {} : { "content-type": request.type }), ...request.headers });

function asCurl(request) {
  const lines = [`curl -X ${request.method} ${shell(request.url)}`, '-H "authorization: Bearer $TOKEN"', ...Object.entries(headersOf(request)).map(([name, value]) => `-H ${shell(`${name}: ${value}`)}`)];
  if (request.body !== undefined) lines.push(`--data-binary ${shell(request.body)}`);
  return lines.join(" \\\n  ");
}

function asPython(request) {
  const lines = ["import os, urllib.request", "", "request = urllib.request.Request(", `    ${JSON.stringify(request.url)},`, `    method=${JSON.stringify(request.method)},`];
  if (request.body !== undefined) lines.push(`    data=${JSON.stringify(request.body)}.encode(),`);
  const headers = Object.entries(headersOf(request)).map(([name, value]) => `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  lines.push(`    headers={"authorization": "Bearer " + os.environ["TOKEN"]${headers.join("")}},`, ")", "with urllib.request.urlopen(request) as response:", "    print(response.read().decode())");
  return lines.join("\n");
}

function asTypeScript(request) {
  const headers = Object.entries(headersOf(request)).map(([name, value]) => `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  const body = request.body === undefined ? "" : `\n  body: ${JSON.stringify(request.body)},`;
  return `const response = await fetch(${JSON.stringify(request.url)}, {\n  method: ${JSON.stringify(request.method)},\n  headers: { authorization: \`Bearer \${process.env.TOKEN}\`${headers.join("")} },${body}\n});\nconsole.log(await response.text());`;
}

function asGo(request) {
  const body = request.body === undefined ? "nil" : `strings.NewReader(${JSON.stringify(request.body)})`;
  const imports = ["fmt", "io", "net/http", "os", ...(request.body === undefined ? [] : ["strings"])].map((name) => `\t"${name}"`);
  const headers = Object.entries(headersOf(request)).map(([name, value]) => `\trequest.Header.Set(${JSON.stringify(name)}, ${JSON.stringify(value)})`);
  return ["package main", "", "import (", ...imports, ")", "", "func main() {", `\trequest, err := http.NewRequest(${JSON.stringify(request.method)}, ${JSON.stringify(request.url)}, ${body})`, "\tif err != nil {", "\t\tpanic(err)", "\t}", '\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))', ...headers, "\tresponse, err := http.DefaultClient.Do(request)", "\tif err != nil {", "\t\tpanic(err)", "\t}", "\tdefer response.Body.Close()", "\ttext, _ := io.ReadAll(response.Body)", "\tfmt.Println(string(text))", "}"].join("\n");
}

function asRust(request) {
  const quote = (text) => `r#"${text}"#`;
  const headers = Object.entries(headersOf(request)).map(([name, value]) => `        .header(${JSON.stringify(name)}, ${quote(value)})`);
  const build = request.body === undefined ? ".body(())?" : `.body(${quote(request.body)})?`;
  return ["// ureq = \"3\"", "fn main() -> Result<(), Box<dyn std::error::Error>> {", "    let request = ureq::http::Request::builder()", `        .method(${JSON.stringify(request.method)})`, `        .uri(${quote(request.url)})`, '        .header("authorization", format!("Bearer {}", std::env::var("TOKEN")?))', ...headers, `        ${build};`, '    println!("{}", ureq::run(request)?.body_mut().read_to_string()?);', "    Ok(())", "}"].join("\n");
}
