// The filter of the table of processes: words that must all match.

const NUMBER_FIELDS = ["memory", "reductions", "queue"];
const TEXT_FIELDS = ["pid", "name", "call", "function", "status", "stack"];
const FILTER_HELP = "Words that must all be in a process's pid, name, calls or status. Also: " +
  "name:text, call:text, function:text, status:text, pid:text, stack:text (a function on its " +
  "stack), queue>100, memory>1M, reductions<1000. A minus before a word: not.";

function parseNumber(text) {
  const parts = /^(\d+(?:\.\d+)?)([kmg])?(i?b)?$/i.exec(text);
  const power = parts && parts[2] ? "kmg".indexOf(parts[2].toLowerCase()) + 1 : 0;
  return parts ? Number(parts[1]) * 1024 ** power : NaN;
}

/** Which of a table's texts have a part; -1 has none. */
function textsWith(processes, part) {
  return processes.texts.map((text) => text.toLowerCase().includes(part));
}

/** For each stack whether a function on it has the part in its name. */
function stacksWith(processes, part) {
  const { parent, place, function: functions } = processes.stacks;
  const matches = textsWith(processes, part);
  const found = new Uint8Array(parent.length);
  for (let node = 1; node < parent.length; ++node) {
    found[node] = found[parent[node]] || matches[functions[place[node]]] ? 1 : 0;
  }
  return (row) => found[processes.stack[row]] === 1;
}

function matchWord(processes, word) {
  const comparison = /^(memory|reductions|queue)(>=|<=|>|<|=)(.+)$/i.exec(word);
  if (comparison) {
    const column = processes[comparison[1].toLowerCase()];
    const limit = parseNumber(comparison[3]);
    const compare = {
      ">": (a) => a > limit, "<": (a) => a < limit, "=": (a) => a === limit,
      ">=": (a) => a >= limit, "<=": (a) => a <= limit,
    }[comparison[2]];
    return (row) => compare(column[row]);  // not true of NaN
  }
  const field = /^([a-z]+):(.*)$/i.exec(word);
  const name = field ? field[1].toLowerCase() : "";
  const part = (TEXT_FIELDS.includes(name) ? field[2] : word).toLowerCase();
  if (name === "stack") return stacksWith(processes, part);
  const isPid = (row) => processes.pid(row).includes(part);
  if (name === "pid") return isPid;
  const matches = textsWith(processes, part);
  const columns = name === "name" ? ["name", "shown"] : TEXT_FIELDS.includes(name) ? [name]
    : ["name", "shown", "call", "function", "status"];
  const inColumn = (row) => columns.some((column) => {
    const index = processes[column][row];
    return index !== ABSENT && matches[index];
  });
  return TEXT_FIELDS.includes(name) ? inColumn : (row) => inColumn(row) || isPid(row);
}

/** A function that tells whether a row passes. */
function parseFilter(processes, text) {
  const words = text.trim().split(/\s+/).filter((word) => word !== "");
  const tests = words.map((word) => {
    if (word.length > 1 && word.startsWith("-")) {
      const test = matchWord(processes, word.slice(1));
      return (row) => !test(row);
    }
    return matchWord(processes, word);
  });
  return (row) => tests.every((test) => test(row));
}

/** The section of processes. */
class ProcessList {
  constructor(processes) {
    this.processes = processes;
    this.chosen = null;  // the processes of a part of the flame graph
    this.input = el("input", {
      type: "search", id: "filter", placeholder: "text, queue>100, memory>1M, stack:gen_server",
      "aria-describedby": "filter-help", autocomplete: "off", spellcheck: "false",
      oninput: later(() => this.apply(), 120),
    });
    this.mark = el("span");
    const number = (id, title, text) => ({
      id, title, number: true, key: (row) => processes[id][row],
      cell: (row) => text(processes.known(processes[id], row)),
    });
    const text = (id, title, column = id) => ({
      id, title, key: (row) => {
        const index = processes[column][row];
        return index === ABSENT ? NaN : processes.ranks()[index];
      },
      cell: (row) => processes.text(processes[column][row]) || "",
    });
    this.table = new Table({
      label: "Processes", one: "process", many: "processes", count: processes.count,
      sort: "memory",
      columns: [
        { id: "pid", title: "Pid", cell: (row) => processes.pid(row),
          key: (row) => processes.number[row] + processes.serial[row] * 2 ** 32 },
        text("name", "Name", "shown"), text("call", "Initial call"), number("memory", "Memory", bytesText),
        number("queue", "Messages", countText), number("reductions", "Reductions", countText),
        text("status", "Status"), text("function", "Current function")],
      name: (row) => processes.pid(row),
      detail: (row) => this.detail(row),
    });
    add(body("processes"), [
      el("div.controls", {}, el("label.field.wide", {}, el("span", {}, "Filter"), this.input),
        el("button", { type: "button", onclick: () => this.clear() }, "Clear"), this.mark),
      el("p.hint", { id: "filter-help" }, FILTER_HELP), this.table.element]);
  }

  detail(row) {
    const { processes } = this;
    const above = processes.parent[row];
    const frames = processes.frames(row).map((frame) => el("li", {}, el("code", {}, frame.function),
      frame.times > 1 ? el("span.dim", {}, " \u00d7 " + countText(frame.times)) : "",
      frame.file ? el("span.dim", {}, " " + frame.file +
        (known(frame.line) ? ":" + frame.line : "")) : ""));
    return el("div.unfolded", {},
      el("dl.facts", {},
        fact("Registered name", processes.text(processes.name[row])),
        fact("Parent", above === ABSENT ? undefined : el("button.link", {
          type: "button", onclick: () => this.open(above) }, processes.title(above) + " " +
          processes.pid(above)))),
      el("h3", {}, "Stack, the current function first"), el("ol.stack", {}, frames));
  }

  apply() {
    const keeps = parseFilter(this.processes, this.input.value);
    this.table.filter(this.chosen ? (row) => this.chosen(row) && keeps(row) : keeps);
  }
  clear() {
    this.input.value = "";
    this.choose(null, "");
  }
  /** Lists only some processes. */
  choose(keeps, title) {
    this.chosen = keeps;
    fill(this.mark, keeps ? el("span.mark", {}, "Only those " + title) : "");
    this.apply();
  }
  /** Shows one process. */
  open(row) {
    this.clear();
    scrollTo(byId("processes"));
    this.table.reveal(row);
  }
  openPid(pid) {
    const row = this.processes.findPid(pid);
    if (row !== ABSENT) this.open(row);
  }
}
