// Processes by who started them, as far as they are unfolded.

const CHILDREN_SHOWN = 50;

class ProcessTree {
  constructor(processes, chosen) {
    this.processes = processes;
    this.chosen = chosen;
    this.read();
    this.element = el("ul.tree", { role: "tree", "aria-label": "Supervision tree",
                                   onkeydown: (event) => this.pressed(event) });
    this.append(this.element, this.roots, 1, 0);
    const first = this.element.querySelector("[role=treeitem]");
    if (first) first.tabIndex = 0;
    for (const item of Array.from(this.element.children).slice(0, 3)) this.open(item);
  }

  /** Children, and sums over a process and all below it. */
  read() {
    const { count, parent, memory } = this.processes;
    this.children = new Map();
    this.roots = [];
    this.sums = Float64Array.from(memory, (value) => (Number.isNaN(value) ? 0 : value));
    this.totals = new Float64Array(count).fill(1);
    const pending = new Int32Array(count);
    for (let row = 0; row < count; ++row) {
      if (parent[row] === ABSENT) {
        this.roots.push(row);
        continue;
      }
      if (!this.children.has(parent[row])) this.children.set(parent[row], []);
      this.children.get(parent[row]).push(row);
      ++pending[parent[row]];
    }
    const ready = [];
    for (let row = 0; row < count; ++row) if (pending[row] === 0) ready.push(row);
    while (ready.length > 0) {
      const row = ready.pop();
      const above = parent[row];
      if (above === ABSENT) continue;
      this.sums[above] += this.sums[row];
      this.totals[above] += this.totals[row];
      if (--pending[above] === 0) ready.push(above);
    }
    const byMemory = (a, b) => this.sums[b] - this.sums[a] || a - b;
    this.roots.sort(byMemory);
    for (const below of this.children.values()) below.sort(byMemory);
    this.whole = this.roots.reduce((sum, row) => sum + this.sums[row], 0);
  }

  append(list, rows, level, from) {
    const end = Math.min(rows.length, from + CHILDREN_SHOWN);
    for (let at = from; at < end; ++at) list.append(this.item(rows[at], level, at, rows.length));
    if (end < rows.length) {
      const more = el("li.more", { role: "none" }, el("button.link", {
        type: "button",
        onclick: () => {
          more.remove();
          this.append(list, rows, level, end);
        },
      }, counted(rows.length - end, "more", "more")));
      list.append(more);
    }
  }

  item(row, level, at, of) {
    const { processes } = this;
    const below = this.children.get(row);
    const sum = this.sums[row] > 0 ? bytesText(this.sums[row]) : "";
    const bar = el("span.bar-part");
    bar.style.width = (this.whole > 0 ? 100 * this.sums[row] / this.whole : 0) + "%";
    const name = processes.ownName(row);
    const line = el("div.node", { onclick: () => this.flip(made) },
      el("span.twist", { "aria-hidden": "true" }),
      el("b", {}, name || processes.pid(row)),
      el("span.dim", {}, (name ? processes.pid(row) + " " : "") +
        (processes.text(processes.call[row]) || "")),
      el("span.sum", {}, below ? counted(this.totals[row], "process", "processes") : "", " ", sum),
      el("span.share", { "aria-hidden": "true" }, bar),
      el("button.link", { type: "button", tabindex: -1, onclick: (event) => {
        event.stopPropagation();
        this.chosen(row);
      } }, "show"));
    const made = el("li", {
      role: "treeitem", "aria-level": level, "aria-setsize": of, "aria-posinset": at + 1,
      "aria-expanded": below ? "false" : undefined, tabindex: -1,
      "aria-label": visible(processes.title(row) + ", " + processes.pid(row) +
        (below ? ", " + counted(this.totals[row], "process", "processes") : "") +
        (sum ? ", " + sum : "")),
    }, line);
    made.dataset.row = row;
    return made;
  }

  flip(item) {
    if (item.getAttribute("aria-expanded") === "true") this.close(item);
    else this.open(item);
  }
  open(item) {
    const below = this.children.get(Number(item.dataset.row));
    if (!below || item.getAttribute("aria-expanded") === "true") return;
    item.setAttribute("aria-expanded", "true");
    const list = el("ul", { role: "group" });
    item.append(list);
    this.append(list, below, Number(item.getAttribute("aria-level")) + 1, 0);
  }
  close(item) {
    item.setAttribute("aria-expanded", "false");
    item.querySelector("ul").remove();
  }

  pressed(event) {
    const item = event.target.closest("[role=treeitem]");
    if (event.target !== item) return;
    const items = Array.from(this.element.querySelectorAll("[role=treeitem]"));
    const at = items.indexOf(item);
    const isOpen = item.getAttribute("aria-expanded") === "true";
    const above = item.parentElement.closest("[role=treeitem]");
    let next;
    if (event.key === "ArrowDown") next = items[at + 1];
    else if (event.key === "ArrowUp") next = items[at - 1];
    else if (event.key === "Home") next = items[0];
    else if (event.key === "End") next = items[items.length - 1];
    else if (event.key === "ArrowRight" && isOpen) next = items[at + 1];
    else if (event.key === "ArrowRight") this.open(item);
    else if (event.key === "ArrowLeft" && isOpen) this.close(item);
    else if (event.key === "ArrowLeft") next = above;
    else if (event.key === "Enter" || event.key === " ") this.chosen(Number(item.dataset.row));
    else return;
    event.preventDefault();
    if (next) {
      item.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }
  }
}
