// A table of any length, of which only the rows in sight are elements. Each row unfolds.

const ROW_HEIGHT = 33;  // as in the style sheet
const ROWS_BEYOND = 8;
const ROWS_PRINTED = 100;

class Table {
  /**
   * columns: {id, title, number, key(row), cell(row)}, `key` a number to sort by, NaN: not known;
   * detail(row): elements below it; sort: a column's id, largest first.
   */
  constructor(options) {
    Object.assign(this, options);
    this.unfolded = new Map();  // row -> height of its details
    this.at = 0;                // place of the row that has the keyboard
    this.shown = Array.from({ length: this.count }, (_, row) => row);
    this.status = el("p.status", { role: "status" });
    this.head = el("tr", { "aria-rowindex": 1 });
    this.rows = el("tbody", { onkeydown: (event) => this.pressed(event) });
    this.table = el("table", { "aria-label": this.label },
      el("thead", {}, this.head), this.rows);
    this.box = el("div.scroll", {
      onscroll: () => requestAnimationFrame(() => this.follow()),
      tabindex: -1,
    }, this.table);
    this.element = el("div.list", {}, this.status, this.box);
    this.columns.forEach((column) => this.addHeading(column));
    this.descending = true;
    this.sortBy(this.sort, true);
    new ResizeObserver(later(() => this.follow(), 50)).observe(this.box);
    addEventListener("beforeprint", () => this.print());
    addEventListener("afterprint", () => this.draw());
  }

  addHeading(column) {
    const sort = () => this.sortBy(
      column.id, this.sort === column.id ? !this.descending : column.number);
    column.heading = el("th" + (column.number ? ".number" : ""), { scope: "col" },
      el("button", { type: "button", onclick: sort }, column.title));
    column.heading.classList.add("column-" + column.id);
    this.head.append(column.heading);
  }

  sortBy(id, descending) {
    this.sort = id;
    this.descending = descending;
    for (const column of this.columns) {
      column.heading.setAttribute("aria-sort", column.id !== id ? "none"
        : descending ? "descending" : "ascending");
    }
    this.arrange();
  }

  /** Keeps rows for which it is true; `what` follows the number in the status. */
  filter(keeps) {
    const shown = [];
    for (let row = 0; row < this.count; ++row) if (keeps(row)) shown.push(row);
    this.shown = shown;
    this.at = 0;
    this.box.scrollTop = 0;
    this.arrange();
  }

  arrange() {
    const { key } = this.columns.find((column) => column.id === this.sort);
    const keys = new Float64Array(this.count);
    const sign = this.descending ? -1 : 1;
    for (const row of this.shown) {
      const value = sign * key(row);
      keys[row] = Number.isNaN(value) ? Infinity : value;
    }
    this.shown.sort((a, b) => keys[a] - keys[b] || a - b);
    this.places = new Int32Array(this.count).fill(-1);
    this.shown.forEach((row, place) => { this.places[row] = place; });
    fill(this.status, this.shown.length === this.count
      ? counted(this.count, this.one, this.many)
      : countText(this.shown.length) + " of " + counted(this.count, this.one, this.many));
    this.table.setAttribute("aria-rowcount", this.shown.length + 1);
    this.draw();
  }

  /** Where the row at a place begins, below the head. */
  top(place) {
    let extra = 0;
    for (const [row, height] of this.unfolded) {
      if (this.places[row] !== -1 && this.places[row] < place) extra += height;
    }
    return place * ROW_HEIGHT + extra;
  }

  /** The places of the first row to show and of the one after the last. */
  inSight() {
    const height = this.box.clientHeight || 600;
    const from = this.box.scrollTop;
    let first = Math.max(0, Math.floor(from / ROW_HEIGHT) - ROWS_BEYOND);
    while (first > 0 && this.top(first) > from - ROWS_BEYOND * ROW_HEIGHT) --first;
    const count = Math.ceil(height / ROW_HEIGHT) + 2 * ROWS_BEYOND;
    return [first, Math.min(this.shown.length, first + count)];
  }

  draw() {
    this.show(...this.inSight());
  }
  /** Draws if other rows are in sight: rows that are replaced during a click do not get it. */
  follow() {
    const [first, end] = this.inSight();
    // A resized list may have details of another height.
    if (first !== this.first || end !== this.end || this.measure(this.rows.children)) {
      this.show(first, end);
    }
  }

  show(first, end) {
    this.first = first;
    this.end = end;
    const focused = this.rows.contains(document.activeElement);
    const lines = [];
    for (let place = first; place < end; ++place) lines.push(...this.lines(place));
    const below = this.top(this.shown.length) - this.top(end);
    fill(this.rows, this.space(this.top(first)), lines, this.space(below));
    if (this.measure(lines)) {
      this.rows.firstChild.firstChild.style.height = this.top(first) + "px";
    }
    if (focused) this.focus();
  }
  space(height) {
    const cell = el("td", { colspan: this.columns.length });
    cell.style.height = Math.max(0, height) + "px";
    return el("tr.space", { "aria-hidden": "true" }, cell);
  }

  lines(place) {
    const row = this.shown[place];
    const open = this.unfolded.has(row);
    const unfold = el("button.unfold", {
      type: "button",
      "aria-expanded": String(open),
      "aria-label": "Details of " + this.name(row),
      tabindex: place === this.at ? 0 : -1,
    });
    const cells = this.columns.map((column, at) =>
      el("td." + (column.number ? "number" : "text"), {},
        at === 0 ? unfold : "", column.cell(row)));
    const line = el("tr", {
      "aria-rowindex": place + 2,
      onclick: (event) => {
        this.at = place;
        if (!event.target.closest("a, button:not(.unfold)")) this.toggle(row);
      },
    }, cells);
    line.dataset.place = place;
    if (!open) return [line];
    line.classList.add("open");
    const details = el("tr.details", {},
      el("td", { colspan: this.columns.length }, this.detail(row)));
    details.dataset.row = row;
    return [line, details];
  }
  /** Notes the heights of details; whether one differs from what was thought. */
  measure(lines) {
    let differs = false;
    for (const line of lines) {
      if (!line.classList.contains("details")) continue;
      const row = Number(line.dataset.row);
      const height = line.getBoundingClientRect().height;
      if (height > 0 && this.unfolded.get(row) !== height) {
        this.unfolded.set(row, height);
        differs = true;
      }
    }
    return differs;
  }

  toggle(row) {
    if (!this.unfolded.delete(row)) this.unfolded.set(row, 0);
    this.draw();
    this.focus();
  }
  focus() {
    const button = this.rows.querySelector('tr[data-place="' + this.at + '"] .unfold');
    if (button) button.focus({ preventScroll: true });
  }

  pressed(event) {
    const button = event.target.closest(".unfold");
    if (!button || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW_HEIGHT) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
                    Home: -Infinity, End: Infinity };
    const row = this.shown[this.at];
    if (event.key in steps) {
      this.move(this.at + steps[event.key]);
    } else if (event.key === "ArrowRight" && !this.unfolded.has(row)) {
      this.toggle(row);
    } else if (event.key === "ArrowLeft" && this.unfolded.has(row)) {
      this.toggle(row);
    } else {
      return;
    }
    event.preventDefault();
  }
  move(place) {
    this.at = Math.min(Math.max(0, place), this.shown.length - 1);
    const top = this.top(this.at);
    const view = this.box.clientHeight - this.head.offsetHeight - ROW_HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    if (top > this.box.scrollTop + view) this.box.scrollTop = top - view;
    this.draw();
    this.focus();
  }
  /** Unfolds a row and brings it into sight. */
  reveal(row) {
    const place = this.places[row];
    if (place === -1) return;
    if (!this.unfolded.has(row)) this.unfolded.set(row, 0);
    this.at = place;
    this.box.scrollTop = this.top(place);
    this.draw();
    this.focus();
  }

  /** On paper: the first rows. */
  print() {
    this.show(0, Math.min(this.shown.length, ROWS_PRINTED));
    this.rows.lastChild.firstChild.style.height = "0";
    if (this.shown.length > ROWS_PRINTED) {
      this.rows.lastChild.replaceChildren(el("td", { colspan: this.columns.length },
        "Printed: the first " + ROWS_PRINTED + "."));
    }
  }
}
