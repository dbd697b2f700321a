// Sizes as areas: squarified treemap (Bruls, Huizing, van Wijk) of two levels.

const CELLS_SHOWN = 60;
const SMALLEST_CELL = 16;  // square pixels

/** Rectangles {item, x, y, w, h} of items, which have `size` and are the largest first. */
function squarify(items, x, y, w, h) {
  const placed = [];
  let total = items.reduce((sum, item) => sum + item.size, 0);
  let at = 0;
  while (at < items.length && total > 0 && w > 0 && h > 0) {
    const side = Math.min(w, h);
    const scale = w * h / total;
    let row = 0;
    let best = Infinity;
    let end = at;
    for (; end < items.length; ++end) {
      const next = row + items[end].size * scale;
      const largest = items[at].size * scale;
      const smallest = items[end].size * scale;
      const worst = Math.max(side * side * largest / (next * next),
        next * next / (side * side * smallest));
      if (worst > best) break;
      best = worst;
      row = next;
    }
    const thick = row / side;
    let along = 0;
    for (; at < end; ++at) {
      const long = items[at].size * scale / thick;
      placed.push(w >= h ? { item: items[at], x, y: y + along, w: thick, h: long }
        : { item: items[at], x: x + along, y, w: long, h: thick });
      along += long;
      total -= items[at].size;
    }
    if (w >= h) {
      x += thick;
      w -= thick;
    } else {
      y += thick;
      h -= thick;
    }
  }
  return placed;
}

/** The largest items, and one that is all others. */
function largest(items, count) {
  const sorted = items.filter((item) => item.size > 0).sort((a, b) => b.size - a.size);
  if (sorted.length <= count) return sorted;
  const rest = sorted.slice(count);
  sorted.length = count;
  const size = rest.reduce((sum, item) => sum + item.size, 0);
  sorted.push({ title: counted(rest.length, "other", "others"), size, kind: "rest" });
  return sorted.sort((a, b) => b.size - a.size);
}

/** Items: {title, size, kind, items, note, row}; a `row` is that of a process. */
class Treemap {
  constructor(chosen) {
    this.chosen = chosen;
    this.path = [];
    this.trail = el("nav.trail", { "aria-label": "Place in the treemap" });
    this.map = el("div.treemap", { onkeydown: (event) => this.pressed(event) });
    this.element = el("div", {}, this.trail, this.map);
    new ResizeObserver(later(() => this.draw(), 50)).observe(this.map);
  }

  open(root) {
    this.path = [root];
    this.draw();
  }

  draw() {
    const top = this.path[this.path.length - 1];
    if (!top) return;
    const box = this.map.getBoundingClientRect();
    fill(this.trail, this.path.map((item, at) => [at > 0 ? el("span", {}, " › ") : "",
      at + 1 < this.path.length
        ? el("button.link", { type: "button", onclick: () => this.up(at) }, item.title)
        : el("b", {}, item.title + ", " + bytesText(item.size))]));
    const cells = squarify(largest(top.items, CELLS_SHOWN), 0, 0, box.width, box.height)
      .filter((cell) => cell.w * cell.h >= SMALLEST_CELL);
    fill(this.map, cells.map((cell, at) => this.cell(cell, top, at === 0)));
  }

  cell({ item, x, y, w, h }, parent, first) {
    const share = shareText(item.size, parent.size);
    const described = item.title + ", " + bytesText(item.size) + (share ? ", " + share : "") +
      (item.note ? ", " + item.note : "");
    const made = el("button.cell", {
      type: "button",
      title: visible(described),
      "aria-label": visible(described),
      tabindex: first ? 0 : -1,
      onclick: () => this.enter(item),
    });
    made.classList.add("kind-" + (item.kind || "other"));
    if (!item.items && item.row === undefined) made.classList.add("leaf");
    place(made, x, y, w, h);
    if (w > 34 && h > 17) {
      made.append(el("span.cell-title", {}, el("b", {}, item.title), " " + bytesText(item.size)));
    }
    if (item.items && w > 50 && h > 44) {
      const inside = squarify(largest(item.items, CELLS_SHOWN), 2, 21, w - 6, h - 25);
      for (const cell of inside.filter((one) => one.w * one.h >= SMALLEST_CELL)) {
        const child = el("span.inner", {});
        place(child, cell.x, cell.y, cell.w, cell.h);
        if (cell.w > 44 && cell.h > 15) child.append(document.createTextNode(visible(cell.item.title)));
        made.append(child);
      }
    }
    return made;
  }

  enter(item) {
    if (item.items) {
      this.path.push(item);
      this.draw();
      this.focus(this.map.querySelector(".cell"));
    } else if (item.row !== undefined) {
      this.chosen(item.row);
    }
  }
  up(at) {
    this.path.length = at + 1;
    this.draw();
    this.focus(this.map.querySelector(".cell"));
  }
  focus(cell) {
    if (cell) cell.focus({ preventScroll: true });
  }

  pressed(event) {
    const cells = Array.from(this.map.querySelectorAll(".cell"));
    const at = cells.indexOf(document.activeElement);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step && at !== -1) {
      const next = cells[Math.min(Math.max(0, at + step), cells.length - 1)];
      cells[at].tabIndex = -1;
      next.tabIndex = 0;
      this.focus(next);
    } else if (event.key === "Escape" && this.path.length > 1) {
      this.up(this.path.length - 2);
    } else {
      return;
    }
    event.preventDefault();
  }
}

function place(element, x, y, w, h) {
  element.style.left = x + "px";
  element.style.top = y + "px";
  element.style.width = Math.max(0, w - 1) + "px";
  element.style.height = Math.max(0, h - 1) + "px";
}
