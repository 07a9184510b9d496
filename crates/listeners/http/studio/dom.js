// Elements, icons, messages, dialogs and menus. Values become text nodes, never markup.

/** An element with properties and children. `on` holds listeners, `aria` and `data` their attributes. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "aria") for (const [key, text] of Object.entries(value)) text != null && element.setAttribute(`aria-${key}`, text);
    else if (name === "data") for (const [key, text] of Object.entries(value)) text != null && (element.dataset[key] = text);
    else if (name === "style") Object.assign(element.style, value);
    else if (name in element && name !== "list" && name !== "role") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element of SVG, with attributes and children. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value != null) element.setAttribute(name, value);
  element.append(...children.flat(9));
  return element;
}

const ICONS = {
  table: "M3 5h18v14H3zM3 10h18M9 10v9",
  view: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6",
  sql: "M4 6l6 6-6 6M12 19h8",
  live: "M3 12h4l3-8 4 16 3-8h4",
  schema: "M3 4h7v6H3zM14 14h7v6h-7zM6.500 10v7H14",
  server: "M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5",
  plus: "M12 5v14M5 12h14",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  close: "M6 6l12 12M18 6L6 18",
  filter: "M3 5h18l-7 8v6l-4-2v-4z",
  sort: "M7 4v16M3 16l4 4 4-4M17 20V4M13 8l4-4 4 4",
  columns: "M4 4h16v16H4zM10 4v16M15 4v16",
  facets: "M4 6h16M4 12h10M4 18h6",
  undo: "M9 14L4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  down: "M12 4v12M6 11l6 6 6-6M4 20h16",
  up: "M12 20V8M6 13l6-6 6 6M4 4h16",
  menu: "M4 6h16M4 12h16M4 18h16",
  theme: "M20 14A8.500 8.500 0 0 1 10 4a8.500 8.500 0 1 0 10 10z",
  play: "M7 4l13 8-13 8z",
  stop: "M6 6h12v12H6z",
  edit: "M4 20h4L20 8l-4-4L4 16zM13 7l4 4",
  out: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
  key: "M14 10a4 4 0 1 0-3.500 4L13 17h3v3h4v-3l-6-6",
  chart: "M4 20V4M4 20h16M8 16v-5M13 16V7M18 16v-3",
  exit: "M10 4H4v16h6M9 12h12M17 8l4 4-4 4",
};

/** A picture of a button or a list; it says nothing to screen readers. */
export function icon(name) {
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" }, svg("path", { d: ICONS[name] }));
}

/** A button with a label, an optional icon, and what it does. With `quiet` the label is only spoken and shown as a hint. */
export function button(label, action, { picture, quiet, kind, ...rest } = {}) {
  return h(
    "button",
    { type: "button", className: `${kind ?? ""} ${quiet ? "quiet" : ""}`.trim(), title: quiet ? label : undefined, aria: quiet ? { label } : {}, on: { click: action }, ...rest },
    picture ? icon(picture) : null,
    quiet ? null : label,
  );
}

/** Replaces an element's children. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Shows a message for some seconds: errors until they are closed. */
export function notify(text, { action, label, error } = {}) {
  const list = document.getElementById("messages");
  const close = () => item.remove();
  const item = h(
    "div",
    { className: error ? "message error" : "message" },
    h("span", {}, text),
    action ? button(label, () => (close(), action())) : null,
    button("Close the message", close, { picture: "close", quiet: true }),
  );
  list.append(item);
  while (list.childElementCount > 4) list.firstElementChild.remove();
  if (!error) setTimeout(close, action ? 10_000 : 5_000);
  return close;
}

/** Shows an error. */
export const report = (error) => (console.error(error), notify(error.message ?? String(error), { error: true }));

/** A modal dialog. `content` gets a function that closes it with a result, which the promise returns; undefined if it is cancelled. */
export function dialog(title, content, { wide } = {}) {
  return new Promise((resolve) => {
    let result;
    const done = (value) => ((result = value), element.close());
    const element = h("dialog", { className: wide ? "wide" : "", aria: { label: title } });
    element.append(
      h("header", {}, h("h2", {}, title), button("Close", () => element.close(), { picture: "close", quiet: true })),
      content(done),
    );
    const before = document.activeElement;
    element.addEventListener("close", () => (element.remove(), before?.focus?.(), resolve(result)));
    document.body.append(element);
    element.showModal();
    (element.querySelector("[autofocus]") ?? element.querySelector("input, textarea, select, footer button"))?.focus();
  });
}

/** Asks a question with a choice of answers; returns the value of the chosen one. */
export function ask(title, text, choices) {
  return dialog(title, (done) =>
    h(
      "div",
      {},
      typeof text === "string" ? h("p", {}, text) : text,
      h("footer", {}, choices.map(([label, value, kind]) => button(label, () => done(value), { kind }))),
    ),
  );
}

/** A menu at an element: `[label, action]` pairs, `null` for a line. Arrows move, Escape closes. */
export function menu(anchor, entries) {
  document.querySelector(".menu")?.remove();
  const close = (focus) => {
    list.remove();
    document.removeEventListener("pointerdown", outside, true);
    if (focus) anchor.focus();
  };
  const outside = (event) => list.contains(event.target) || close(false);
  const items = entries.map((entry) =>
    entry === null
      ? h("hr", { role: "separator" })
      : h("button", { type: "button", role: "menuitem", tabIndex: -1, disabled: entry[2]?.disabled, on: { click: () => (close(true), entry[1]()) } }, entry[0]),
  );
  const list = h("div", { className: "menu", role: "menu" }, items);
  list.addEventListener("keydown", (event) => {
    const all = items.filter((item) => item.tagName === "BUTTON" && !item.disabled);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
    else if (event.key === "Home") all[0].focus();
    else if (event.key === "End") all.at(-1).focus();
    else if (event.key === "Escape" || event.key === "Tab") close(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.body.append(list);
  const at = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = list;
  list.style.left = `${Math.max(4, Math.min(at.left, innerWidth - width - 4))}px`;
  list.style.top = `${at.bottom + height > innerHeight ? Math.max(4, at.top - height) : at.bottom + 2}px`;
  document.addEventListener("pointerdown", outside, true);
  items.find((item) => item.tagName === "BUTTON" && !item.disabled)?.focus();
  return close;
}

/** Calls `action` when calls have stopped for some milliseconds. */
export function debounce(action, delay = 200) {
  let timer;
  return (...values) => (clearTimeout(timer), (timer = setTimeout(() => action(...values), delay)));
}

/** Offers bytes as a download. */
export function save(name, type, ...parts) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A number for people: `1,234,567`. */
export const count = (number) => Number(number).toLocaleString("en-US");
