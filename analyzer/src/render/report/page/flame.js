// All stacks as one graph: a function's width is the weight of the processes that are in it.

const FRAME_HEIGHT = 20;
const SMALLEST_FRAME = 0.7;  // pixels

/** The stacks of all processes as a tree of functions, recursion folded if wanted. */
class StackTree {
  constructor(processes, folded) {
    const { parent, place, function: functions } = processes.stacks;
    this.parent = [ABSENT];
    this.function = [ABSENT];
    this.of = new Int32Array(parent.length);  // of a stack: its node here
    const children = new Map();
    for (let node = 1; node < parent.length; ++node) {
      const above = this.of[parent[node]];
      const called = functions[place[node]];
      if (folded && this.function[above] === called) {
        this.of[node] = above;
        continue;
      }
      const key = above * processes.texts.length + called;
      if (!children.has(key)) {
        children.set(key, this.parent.length);
        this.parent.push(above);
        this.function.push(called);
      }
      this.of[node] = children.get(key);
    }
  }

  /** Sums of each node, by what a row counts. */
  weigh(processes, weight) {
    const sums = new Float64Array(this.parent.length);
    const counts = new Float64Array(this.parent.length);
    let unknown = 0;
    for (let row = 0; row < processes.count; ++row) {
      const value = weight(row);
      if (Number.isNaN(value)) {
        ++unknown;
        continue;
      }
      sums[this.of[processes.stack[row]]] += value;
      ++counts[this.of[processes.stack[row]]];
    }
    for (let node = this.parent.length - 1; node > 0; --node) {
      sums[this.parent[node]] += sums[node];
      counts[this.parent[node]] += counts[node];
    }
    this.sums = sums;
    this.counts = counts;
    this.children = this.parent.map(() => []);
    for (let node = 1; node < this.parent.length; ++node) {
      if (sums[node] > 0) this.children[this.parent[node]].push(node);
    }
    for (const below of this.children) below.sort((a, b) => sums[b] - sums[a]);
    return unknown;
  }

  contains(node, top) {
    while (node > top) node = this.parent[node];
    return node === top;
  }
}

const WEIGHTS = {
  count: { title: "Processes", of: () => () => 1, text: (n) => counted(n, "process", "processes") },
  memory: { title: "Memory", of: (all) => (row) => all.memory[row], text: bytesText },
  queue: { title: "Messages", of: (all) => (row) => all.queue[row],
           text: (n) => counted(n, "message", "messages") },
};

class FlameGraph {
  /** chosen(keeps, title): to list the processes for which it is true. */
  constructor(processes, chosen) {
    this.processes = processes;
    this.chosen = chosen;
    this.weight = "count";
    this.folded = true;
    this.top = 0;
    this.wanted = "";
    this.note = el("p.status", { role: "status" });
    this.graph = el("div.flame", { role: "group", "aria-label": "Flame graph",
                                   onkeydown: (event) => this.pressed(event) });
    this.box = el("div.flame-box", {}, this.graph);
    this.list = el("button", { type: "button", onclick: () => this.listProcesses() },
      "List these processes");
    this.out = el("button", { type: "button", onclick: () => this.zoom(0) }, "Whole graph");
    this.element = el("div", {}, this.controls(), this.note, this.box);
    new ResizeObserver(later(() => this.draw(), 50)).observe(this.box);
    this.count();
  }

  controls() {
    const search = el("input", {
      type: "search", id: "flame-search", placeholder: "part of a function's name",
      oninput: later(() => {
        this.wanted = search.value.toLowerCase();
        this.draw();
      }, 100),
    });
    const fold = el("input", { type: "checkbox", checked: true, onchange: () => {
      this.folded = fold.checked;
      this.count();
    } });
    return el("div.controls", {},
      choice("Width", Object.entries(WEIGHTS).map(([id, { title }]) => [id, title]), this.weight,
        (value) => {
          this.weight = value;
          this.count();
        }),
      el("label.field", {}, el("span", {}, "Mark"), search),
      el("label.check", {}, fold, "Recursion as one"),
      this.list, this.out);
  }

  count() {
    this.tree = new StackTree(this.processes, this.folded);
    this.unknown = this.tree.weigh(this.processes, WEIGHTS[this.weight].of(this.processes));
    this.top = 0;
    this.draw();
  }

  functionOf(node) {
    return node === 0 ? "all stacks" : this.processes.texts[this.tree.function[node]];
  }
  described(node) {
    const sum = this.tree.sums[node];
    const parts = [this.functionOf(node), WEIGHTS[this.weight].text(sum),
                   shareText(sum, this.tree.sums[0])];
    if (this.weight !== "count") parts.push(WEIGHTS.count.text(this.tree.counts[node]));
    return visible(parts.filter((part) => part !== "").join(", "));
  }

  draw() {
    const { tree } = this;
    const width = this.box.clientWidth - 2;
    if (width <= 0) return;
    const frames = [];
    const path = [];
    for (let node = this.top; node !== ABSENT; node = tree.parent[node]) path.unshift(node);
    path.forEach((node, depth) => frames.push([node, 0, width, depth]));
    const open = [[this.top, 0, path.length]];
    const scale = width / tree.sums[this.top];
    let deepest = path.length;
    while (open.length > 0) {
      const [node, x, depth] = open.pop();
      let at = x;
      for (const child of tree.children[node]) {
        const wide = tree.sums[child] * scale;
        if (wide < SMALLEST_FRAME) break;
        frames.push([child, at, wide, depth]);
        deepest = Math.max(deepest, depth + 1);
        open.push([child, at, depth + 1]);
        at += wide;
      }
    }
    this.graph.style.height = deepest * FRAME_HEIGHT + "px";
    fill(this.graph, tree.sums[0] > 0 ? frames.map((frame) => this.frame(frame, path.length)) : []);
    this.list.disabled = this.out.disabled = this.top === 0;
    fill(this.note, this.described(this.top) + (this.unknown > 0
      ? "; not counted, as the dump does not say it: " +
        counted(this.unknown, "process", "processes") : ""));
  }

  frame([node, x, wide, depth], opened) {
    const name = this.functionOf(node);
    const made = el("button.frame", {
      type: "button",
      title: this.described(node),
      "aria-label": this.described(node),
      tabindex: node === this.top ? 0 : -1,
      onclick: () => this.zoom(node),
    });
    made.dataset.node = node;
    if (depth + 1 < opened) made.classList.add("above");
    if (this.wanted !== "" && name.toLowerCase().includes(this.wanted)) made.classList.add("marked");
    place(made, x, depth * FRAME_HEIGHT, wide, FRAME_HEIGHT);
    made.style.setProperty("--hue", node === 0 ? 0 : hueOf(name));
    if (wide > 30) made.append(document.createTextNode(visible(name)));
    return made;
  }

  zoom(node) {
    const focused = this.graph.contains(document.activeElement);
    this.top = node;
    this.draw();
    if (focused) this.focus(node);
  }
  focus(node) {
    const button = this.graph.querySelector('[data-node="' + node + '"]');
    if (!button) return;
    for (const other of this.graph.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    button.tabIndex = 0;
    button.focus();
  }

  pressed(event) {
    const at = Number(event.target.dataset.node);
    if (Number.isNaN(at)) return;
    const { tree } = this;
    const beside = at === 0 ? [0] : tree.children[tree.parent[at]];
    const next = {
      ArrowUp: tree.parent[at],
      ArrowDown: tree.children[at][0],
      ArrowLeft: beside[beside.indexOf(at) - 1],
      ArrowRight: beside[beside.indexOf(at) + 1],
    };
    if (event.key === "Escape") {
      this.zoom(0);
      this.focus(0);
    } else if (event.key in next) {
      if (known(next[event.key]) && next[event.key] !== ABSENT) this.focus(next[event.key]);
    } else {
      return;
    }
    event.preventDefault();
  }

  listProcesses() {
    const { tree, top, processes } = this;
    this.chosen((row) => tree.contains(tree.of[processes.stack[row]], top),
      "with " + this.functionOf(top) + " on their stack, as in the graph");
  }
}
