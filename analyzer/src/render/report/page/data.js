// The data of the page: answers as JSON, processes as compressed blocks of columns.

const ABSENT = -1;

async function unpack(text) {
  const packed = atob(text);
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; ++at) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** A column of all blocks, in an array that holds it: `absent` where it is not known. */
function column(blocks, name, values, absent) {
  let at = 0;
  for (const block of blocks) {
    for (const value of block[name]) values[at++] = value === null ? absent : value;
  }
  return values;
}
const numbers = (blocks, name, count) => column(blocks, name, new Float64Array(count), NaN);
/** Of texts or stacks. */
const indexes = (blocks, name, count) => column(blocks, name, new Int32Array(count), ABSENT);

/** All processes, by row. */
class Processes {
  constructor(blocks, names) {
    this.count = blocks.reduce((sum, block) => sum + block.number.length, 0);
    this.texts = names.texts;
    this.number = numbers(blocks, "number", this.count);
    this.serial = numbers(blocks, "serial", this.count);
    for (const name of ["memory", "reductions", "queue"]) {
      this[name] = numbers(blocks, name, this.count);
    }
    for (const name of ["name", "shown", "call", "function", "status", "stack"]) {
      this[name] = indexes(blocks, name, this.count);
    }
    this.rows = new Map();
    for (let row = 0; row < this.count; ++row) this.rows.set(this.key(row), row);
    const above = numbers(blocks, "parent", this.count);
    const aboveSerial = numbers(blocks, "parent_serial", this.count);
    this.parent = Int32Array.from(above, (number, row) =>
      Number.isNaN(number) ? ABSENT : this.find(number, aboveSerial[row]));
    this.stacks = {
      parent: Int32Array.from(names.stack_parent),
      place: Int32Array.from(names.stack_place),
      function: Int32Array.from(names.place_function),
      file: names.place_file,
      line: names.place_line,
    };
    this.mailboxes = names.mailboxes;
    this.withMessages = names.with_messages;
  }

  static keyOf(number, serial) {
    return serial === 0 ? number : number + "." + serial;
  }
  key(row) {
    return Processes.keyOf(this.number[row], this.serial[row]);
  }
  /** The row of a process, ABSENT where it is not in the dump. */
  find(number, serial) {
    const row = this.rows.get(Processes.keyOf(number, serial));
    return row === undefined ? ABSENT : row;
  }
  findPid(pid) {
    const parts = /^<0\.(\d+)\.(\d+)>$/.exec(pid || "");
    return parts ? this.find(Number(parts[1]), Number(parts[2])) : ABSENT;
  }
  text(index) {
    return index === ABSENT ? undefined : this.texts[index];
  }
  pid(row) {
    return "<0." + this.number[row] + "." + this.serial[row] + ">";
  }
  /** A registered name, else a label or what else names it, else what it runs. */
  title(row) {
    return this.text(this.shown[row]) || this.pid(row);
  }
  /** Its title, unless that is only what it runs. */
  ownName(row) {
    return this.shown[row] === this.call[row] ? undefined : this.text(this.shown[row]);
  }
  known(column, row) {
    return Number.isNaN(column[row]) ? undefined : column[row];
  }
  /** Frames of a stack, the current function first; equal ones that follow each other as one. */
  frames(row) {
    const { parent, place, file, line } = this.stacks;
    const found = [];
    for (let node = this.stack[row]; node > 0; node = parent[node]) {
      const at = place[node];
      const last = found[found.length - 1];
      if (last && last.place === at) {
        ++last.times;
        continue;
      }
      found.push({
        place: at,
        times: 1,
        function: this.texts[this.stacks.function[at]],
        file: file[at] === null ? undefined : this.texts[file[at]],
        line: line[at] === null ? undefined : line[at],
      });
    }
    return found;
  }
  /** Texts in their alphabetical order: the place of each. */
  ranks() {
    if (!this.order) {
      const sorted = Array.from(this.texts.keys());
      const lower = this.texts.map((text) => text.toLowerCase());
      sorted.sort((a, b) => (lower[a] < lower[b] ? -1 : lower[a] > lower[b] ? 1 : a - b));
      this.order = new Float64Array(sorted.length);
      sorted.forEach((index, rank) => { this.order[index] = rank; });
    }
    return this.order;
  }
  /** Sums of a column over rows that have it; undefined where none has. */
  sum(column, rows) {
    let total;
    for (const row of rows) {
      if (!Number.isNaN(column[row])) total = (total || 0) + column[row];
    }
    return total;
  }
}

async function readData() {
  const json = (id) => JSON.parse(byId(id).textContent);
  const answers = json("answers");
  const blocks = await unpack(byId("processes-data").textContent);
  return { ...answers, processes: new Processes(blocks, json("names")) };
}
