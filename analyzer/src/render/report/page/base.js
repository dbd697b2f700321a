// Elements and texts. Text of a dump reaches the page only as the text of elements.

const byId = (id) => document.getElementById(id);

/** Controls and marks of direction as escapes: they may disguise a name. */
function visible(text) {
  return String(text).replace(
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (c) => (c === "\n" ? "\\n" : "\\x{" + c.charCodeAt(0).toString(16).toUpperCase() + "}"));
}

/** An element with attributes, properties by on..., and children: elements or texts. */
function el(name, attributes, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag || "div");
  if (classes.length > 0) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  add(made, children);
  return made;
}

function add(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    parent.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
  return parent;
}

function fill(parent, ...children) {
  parent.replaceChildren();
  return add(parent, children);
}

const known = (value) => value !== undefined && value !== null;

/** Numbers above are not exact here. */
function countText(value) {
  if (!known(value)) return "";
  return (value > Number.MAX_SAFE_INTEGER ? "about " : "") + value.toLocaleString("en-US");
}

function bytesText(value) {
  if (!known(value)) return "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let shown = Math.abs(value);
  while (shown >= 1024 && unit + 1 < units.length) {
    shown /= 1024;
    ++unit;
  }
  const digits = unit === 0 || shown >= 100 ? 0 : 1;
  return (value < 0 ? "\u2212" : "") + shown.toFixed(digits) + " " + units[unit];
}

function shareText(part, whole) {
  if (!(whole > 0)) return "";
  const percent = 100 * part / whole;
  return percent > 0 && percent < 0.1 ? "<0.1%" : percent.toFixed(percent < 10 ? 1 : 0) + "%";
}

const counted = (value, one, many) => countText(value) + " " + (value === 1 ? one : many);

function timeText(microseconds) {
  const date = new Date(microseconds / 1000);
  if (!known(microseconds) || Number.isNaN(date.getTime())) return "";
  return date.toISOString().replace("T", " ").slice(0, 19) + " UTC";
}

function spanText(microseconds) {
  const seconds = Math.abs(microseconds) / 1e6;
  if (seconds < 60) return seconds.toFixed(seconds < 10 ? 1 : 0) + " s";
  const parts = [[86400, "d"], [3600, "h"], [60, "min"]];
  const first = parts.findIndex(([size]) => seconds >= size);
  const [size, unit] = parts[first];
  const rest = parts[first + 1];
  const left = rest ? Math.floor(seconds % size / rest[0]) : 0;
  return Math.floor(seconds / size) + " " + unit + (left > 0 ? " " + left + " " + rest[1] : "");
}

/** A position with one value, as far as it is known. */
function fact(title, value) {
  return known(value) && value !== "" ? [el("dt", {}, title), el("dd", {}, value)] : [];
}

function body(id) {
  const section = byId(id);
  section.hidden = false;
  return section.querySelector(".body");
}

/** A choice of one of a few: [value, title]. */
function choice(label, options, chosen, changed) {
  const select = el("select", { onchange: () => changed(select.value) },
    options.map(([value, title]) =>
      el("option", { value, selected: value === chosen }, title)));
  return el("label.field", {}, el("span", {}, label), select);
}

/** Calls it a little after the last of several calls. */
function later(call, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(call, milliseconds);
  };
}

/** The hue of a module's functions. */
function hueOf(name) {
  let hash = 0;
  for (const c of name.split(":")[0]) hash = (hash * 31 + c.charCodeAt(0)) % 3600;
  return hash / 10;
}

function scrollTo(element) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ behavior: still ? "auto" : "smooth", block: "start" });
}
