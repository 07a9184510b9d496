// Sends the first requests while the other files of the page are still loading: `api.js` takes their responses.

{
  const account = sessionStorage.getItem("as");
  const headers = { "bobak-studio": "1", ...(account ? { "bobak-as": account } : {}) };
  /** The value of a response, which is there at once when it is asked for; undefined if the server did not give any. */
  const read = async (response) => {
    if (!response.ok) return undefined;
    const text = await response.text();
    return { ok: true, text: async () => text, json: async () => JSON.parse(text) };
  };
  const get = (path) => {
    const url = new URL(path, new URL("..", import.meta.url)).href;
    const response = fetch(url, { headers, credentials: "same-origin" }).then(read, () => undefined);
    globalThis.early.set(url, response);
  };
  globalThis.early = new Map();
  if (!location.hash.startsWith("#sign-in=")) {
    get("session");
    get("databases");
    const [path, parameters] = location.hash.replace(/^#\/?/, "").split("?");
    const [page, ...named] = path.split("/");
    // Without a table in the address it is probably the one of last time.
    const [database, table] = named[1] ? named : JSON.parse(localStorage.getItem("first") ?? "[]");
    if (database) get(`databases/${database}/tables`);
    if (table && !parameters && (page === "data" || !page)) get(`databases/${database}/tables/${table}/rows?numbers=text&limit=200&total=true`);
  }
}
