// The sections that are not a class of their own.

function tile(title, value, note) {
  return known(value) && value !== "" && [el("div.tile", {}, el("dt", {}, title),
    el("dd", {}, el("b", {}, value), note ? el("span", {}, note) : ""))];
}

function showOverview({ summary, memory, ets, processes }) {
  const { dump, node, counts, crash } = summary;
  const name = dump.node || "A node of unknown name";
  document.title = visible(name) + " \u2013 beamdump";
  fill(byId("bar-node"), name);
  fill(byId("kind"), crash ? "Crash dump" : "Dump of a running node");
  fill(byId("overview-title"), name);
  fill(byId("lead"), [known(node.otp_release) && "Erlang/OTP " + node.otp_release,
    known(dump.captured_us) ? "as of " + timeText(dump.captured_us) : crash && crash.date,
    known(node.uptime_us) && "up " + spanText(node.uptime_us)].filter(Boolean).join(" \u00b7 "));
  const notices = [
    crash && crash.slogan && "Slogan: " + crash.slogan,
    dump.damage && "The dump is incomplete: " + dump.damage,
    counts.processes_void > 0 && counted(counts.processes_void, "process", "processes") +
      " could not be copied: of these the dump has no stack and no messages.",
    known(dump.process_memory) && "The memory of a process is here that of its " +
      dump.process_memory + ": the crash dump does not say more.",
    ...summary.warnings];
  add(byId("notices"), notices.filter(Boolean).map((text) => el("p.notice", {}, text)));
  const sizes = summary.memory;
  const total = (memory.categories || {}).total;
  add(byId("tiles"), [
    tile("Processes", countText(counts.processes),
      known(node.process_limit) && "of at most " + countText(node.process_limit)),
    tile("Memory", bytesText(known(total) ? total : memory.resident_bytes),
      known(total) ? known(memory.resident_bytes) && bytesText(memory.resident_bytes) + " resident"
        : "resident"),
    tile("Queued messages", countText(counts.messages),
      "in " + counted(processes.withMessages, "mailbox", "mailboxes")),
    tile("ETS tables", ets && countText(ets.total),
      ets && known(ets.total_memory_bytes) && bytesText(ets.total_memory_bytes)),
    tile("Binaries", countText(counts.binaries), known(sizes.binaries) && bytesText(sizes.binaries)),
    tile("Atoms", countText(counts.atoms))]);
}

function showFindings(summary, processes, open) {
  const box = body("findings");
  const left = summary.findings_left_out || [];
  add(box, [summary.findings.length === 0
    ? el("p", {}, left.length === 0 ? "Nothing was found that deserves a look."
      : "Nothing was found so far: not everything was looked at.")
    : el("ul.findings", {}, summary.findings.map(({ sentence, command, figures }) => {
      const row = processes.findPid(figures.process);
      return el("li", {}, el("p", {}, sentence), el("code", {}, command), row === ABSENT ? ""
        : [" ", el("button.link", { type: "button", onclick: () => open(row) }, "Show the process")]);
    }))]);
  if (summary.findings_depth === "quick") {
    add(box, [el("p.hint", {}, "Looked for by tables and the few processes that these point at; " +
      "report --findings full reads the terms of all processes.")]);
  }
  if (left.length > 0) {
    add(box, [el("details", {}, el("summary", {}, "Not looked at, or not at everything: " +
      counted(left.length, "rule", "rules")),
      el("dl.facts", {}, left.map(({ id, reason }) => fact(id, reason))))]);
  }
}

/** Processes by what they run, as items of a treemap. */
function processItems(processes) {
  const groups = new Map();
  for (let row = 0; row < processes.count; ++row) {
    const size = processes.memory[row];
    if (Number.isNaN(size)) continue;
    const call = processes.call[row];
    if (!groups.has(call)) groups.set(call, []);
    groups.get(call).push({ row, size });
  }
  return Array.from(groups, ([call, members]) => ({
    title: call === ABSENT ? "initial call not known" : processes.texts[call],
    size: members.reduce((sum, { size }) => sum + size, 0),
    kind: "processes",
    note: counted(members.length, "process", "processes"),
    get items() {
      return members.map(({ row, size }) => ({ row, size, kind: "processes",
        title: (processes.ownName(row) || "") + " " + processes.pid(row) }));
    },
  }));
}

/** An item with parts, and what of its size is in none of them. */
function itemOf(title, size, kind, parts, rest) {
  const sum = parts.reduce((total, part) => total + part.size, 0);
  const items = size > sum && sum > 0 ? [...parts, { title: rest, size: size - sum, kind: "rest" }]
    : parts;
  return { title, size, kind, items: items.length > 0 ? items : undefined };
}

/** The views of the node's memory: [id, title, items, note]. */
function memoryViews({ summary, memory, ets, processes }) {
  const parts = processItems(processes);
  const tables = (ets ? ets.tables : []).filter((table) => known(table.memory_bytes))
    .map((table) => ({ title: table.name || table.id || "table", size: table.memory_bytes,
                       kind: "ets", note: known(table.size) ? counted(table.size, "row", "rows") : "",
                       row: processes.findPid(table.owner) }))
    .map((item) => (item.row === ABSENT ? { ...item, row: undefined } : item));
  const views = [];
  const by = memory.categories || {};
  if (known(by.processes)) {
    const items = [itemOf("processes", by.processes, "processes", parts,
      "beyond process_info(memory)")];
    if (known(by.ets)) items.push(itemOf("ets", by.ets, "ets", tables, "other ETS memory"));
    for (const name of ["binary", "code", "atom"]) {
      if (known(by[name])) items.push({ title: name, size: by[name], kind: name });
    }
    const named = ["ets", "binary", "code", "atom"].reduce((sum, name) => sum + (by[name] || 0), 0);
    if (by.system > named) {
      items.push({ title: known(by.ets) ? "other system" : "other system and ets",
                   size: by.system - named, kind: "rest" });
    }
    views.push(["categories", "By category, as the node counted it", items,
      "erlang:memory/0; the sizes of processes and tables are their own."]);
  }
  if ((memory.resident_parts || []).length > 0) {
    views.push(["resident", "Resident, by who holds it",
      memory.resident_parts.map(({ name, bytes, blocks }) => ({
        title: RESIDENT_TITLES[name] || name, size: bytes,
        kind: { heaps: "processes", ets: "ets", binaries: "binary", jit_code: "code",
                literals: "code" }[name] || "other",
        note: known(blocks) ? counted(blocks, "block", "blocks") : "",
      })), "What the operating system counts as the node's resident memory."]);
  }
  const sizes = summary.memory;
  const found = [
    itemOf("processes", parts.reduce((sum, part) => sum + part.size, 0), "processes", parts),
    itemOf("ETS tables", tables.reduce((sum, table) => sum + table.size, 0), "ets", tables),
    { title: "binaries", size: sizes.binaries || 0, kind: "binary" },
    { title: "code", size: sizes.code || 0, kind: "code" },
    { title: "literals", size: sizes.literals || 0, kind: "code" },
    { title: "atoms", size: sizes.atoms || 0, kind: "atom" }];
  views.push(["found", "As found in the dump", found.filter(({ size }) => size > 0),
    "Sizes of what the dump has, added up; what it does not say is left out."]);
  return views;
}

const RESIDENT_TITLES = {
  heaps: "heaps, stacks and messages", binaries: "binaries", ets: "ETS tables",
  process_structures: "process structures", literals: "literals",
  long_lived_tables: "long-lived tables", drivers: "drivers, ports and NIFs",
  standard_blocks: "other blocks", short_lived_blocks: "short-lived blocks",
  temporary_blocks: "temporary blocks", allocator_overhead: "free in carriers",
  segment_cache: "kept by mseg_alloc", jit_code: "JIT code", c_heap: "malloc, outside of carriers",
  stacks: "stacks of threads", vm_file: "the VM's executable", libraries: "libraries and files",
  kernel: "of the kernel",
};

function showMemory(data, open) {
  const views = memoryViews(data);
  if (views.every(([, , items]) => items.length === 0)) return;
  const map = new Treemap(open);
  const note = el("p.hint");
  const exact = el("div");
  const show = (id) => {
    const [, title, items, text] = views.find(([name]) => name === id);
    const size = items.reduce((sum, item) => sum + item.size, 0);
    map.open({ title: "all", size, items });
    fill(note, text + " A click goes into a part; arrow keys go from part to part, Escape up.");
    fill(exact, plainTable(title, [["Part", false], ["Memory", true], ["Share", true]],
      items.slice().sort((a, b) => b.size - a.size)
        .map((item) => [item.title, bytesText(item.size), shareText(item.size, size)])));
  };
  add(body("memory"), [el("div.controls", {}, choice("Show",
    views.map(([id, title]) => [id, title]), views[0][0], show)), note, map.element,
    el("details", {}, el("summary", {}, "As a table"), exact)]);
  show(views[0][0]);
}

function bars(rows, whole) {
  return el("ul.bars", {}, rows.map(([title, value]) => {
    const part = el("span.bar-part");
    part.style.width = (whole > 0 ? Math.min(100, 100 * value / whole) : 0) + "%";
    return el("li", {}, el("code", {}, title), el("span.sum", {}, countText(value), " ",
      shareText(value, whole)), el("span.share", { "aria-hidden": "true" }, part));
  }));
}

function showMailboxes(processes, open) {
  const box = body("mailboxes");
  const boxes = processes.mailboxes.map((mailbox) =>
    ({ ...mailbox, row: processes.find(mailbox.number, mailbox.serial) }));
  if (boxes.length === 0) {
    add(box, [el("p", {}, processes.withMessages === 0 ? "No process has messages, as far as the " +
      "dump says." : "")]);
    return;
  }
  if (boxes.length < processes.withMessages) {
    add(box, [el("p.hint", {}, "The " + countText(boxes.length) + " longest of " +
      countText(processes.withMessages) + ".")]);
  }
  const first = (mailbox) => mailbox.shapes && mailbox.shapes[0];
  const rank = (index) => (known(index) && index !== ABSENT ? processes.ranks()[index] : NaN);
  const table = new Table({
    label: "Mailboxes", one: "mailbox", many: "mailboxes", count: boxes.length, sort: "queue",
    columns: [
      { id: "process", title: "Process", key: (at) => rank(processes.shown[boxes[at].row]),
        cell: (at) => processes.title(boxes[at].row) },
      { id: "pid", title: "Pid", key: (at) => boxes[at].number, cell: (at) => processes.pid(boxes[at].row) },
      { id: "queue", title: "Messages", number: true, key: (at) => processes.queue[boxes[at].row],
        cell: (at) => countText(processes.known(processes.queue, boxes[at].row)) },
      { id: "shape", title: "Most are like", key: (at) => rank((first(boxes[at]) || {}).shape),
        cell: (at) => (first(boxes[at]) ? processes.texts[first(boxes[at]).shape] : "") },
      { id: "function", title: "Current function", key: (at) => rank(processes.function[boxes[at].row]),
        cell: (at) => processes.text(processes.function[boxes[at].row]) || "" }],
    name: (at) => processes.title(boxes[at].row),
    detail: (at) => {
      const { shapes, messages, signals, other, row } = boxes[at];
      return el("div.unfolded", {}, el("button.link", { type: "button", onclick: () => open(row) },
        "Show the process"),
        messages > 0 ? [el("h3", {}, counted(messages, "message", "messages") + " by shape"),
          bars([...shapes.map(({ shape, count }) => [processes.texts[shape], count]),
            ...(other > 0 ? [["other shapes", other]] : [])], messages),
          signals > 0 ? el("p.hint", {}, counted(signals, "other signal is",
            "other signals are") + " queued with them.") : ""]
          : el("p", {}, "The dump does not have these messages."));
    },
  });
  add(box, [table.element]);
}

function showTables(ets, processes, open) {
  const box = body("tables");
  if (!ets) {
    add(box, [el("p", {}, "The dump does not have the node's ETS tables.")]);
    return;
  }
  const { tables } = ets;
  const texts = Array.from(new Set(tables.flatMap((table) => Object.values(table).map(String))));
  const rank = new Map(texts.sort().map((text, at) => [text, at]));
  const text = (id, title, value) => ({ id, title,
    key: (at) => (known(value(tables[at])) ? rank.get(String(value(tables[at]))) : NaN),
    cell: (at) => value(tables[at]) });
  const number = (id, title, shown) => ({ id, title, number: true,
    key: (at) => (known(tables[at][id]) ? tables[at][id] : NaN), cell: (at) => shown(tables[at][id]) });
  const table = new Table({
    label: "ETS tables", one: "table", many: "tables", count: tables.length, sort: "memory_bytes",
    columns: [text("name", "Name", (one) => known(one.name) ? one.name : one.id),
      number("memory_bytes", "Memory", bytesText), number("size", "Rows", countText),
      text("type", "Type", (one) => one.type), text("protection", "Protection", (one) => one.protection),
      text("owner", "Owner",
        (one) => known(one.owner_display_name) ? one.owner_display_name : one.owner)],
    name: (at) => tables[at].name || tables[at].id || "the table",
    detail: (at) => {
      const one = tables[at];
      const owner = processes.findPid(one.owner);
      return el("div.unfolded", {}, el("dl.facts", {},
        Object.entries(one).filter(([id]) => !id.startsWith("owner"))
          .map(([id, value]) => fact(id, String(value))),
        fact("owner", owner === ABSENT ? one.owner : el("button.link", { type: "button",
          onclick: () => open(owner) }, processes.title(owner) + " " + one.owner))));
    },
  });
  const input = el("input", { type: "search", id: "table-filter", autocomplete: "off",
    oninput: later(() => {
      const part = input.value.trim().toLowerCase();
      table.filter((at) => Object.values(tables[at]).some((value) =>
        String(value).toLowerCase().includes(part)));
    }, 120) });
  if (tables.length < ets.total) {
    add(box, [el("p.hint", {}, "The " + countText(tables.length) + " with most memory of " +
      countText(ets.total) + ".")]);
  }
  add(box, [el("div.controls", {}, el("label.field", {}, el("span", {}, "Filter"), input)),
    table.element]);
}

/** Columns of a table of objects: texts, and numbers by what shows them. */
function columnsOf(rows, columns) {
  const texts = columns.filter(([, , , text]) => !text)
    .flatMap(([, , value]) => rows.map((row) => String(value(row))));
  const rank = new Map(Array.from(new Set(texts)).sort().map((text, at) => [text, at]));
  return columns.map(([id, title, value, text]) => ({ id, title, number: Boolean(text),
    key: (at) => {
      const one = value(rows[at]);
      return !known(one) ? NaN : text ? one : rank.get(String(one));
    },
    cell: (at) => {
      const one = value(rows[at]);
      return !known(one) ? undefined : text ? text(one) : String(one);
    } }));
}

/** A button to the process, where the page has it. */
function processButton(pid, processes, open) {
  const row = processes.findPid(pid);
  return row === ABSENT ? "" : el("button.link", { type: "button", onclick: () => open(row) },
    processes.title(row) + " " + pid);
}

function shownOf(count, total, sorted) {
  return known(total) && count < total
    ? [el("p.hint", {}, "The " + countText(count) + " " + sorted + " of " + countText(total) + ".")]
    : [];
}

function showWaits(waits, processes, open) {
  const box = body("waits");
  const { waited_for: rows, cycles } = waits;
  if (rows.length === 0) {
    add(box, [el("p", {}, waits.waiting === 0 ? "No process waits for an answer, as far as the " +
      "dump says." : "The dump does not say who waits for an answer.")]);
    return;
  }
  add(box, [el("p", {}, counted(waits.waiting, "process waits", "processes wait") +
    " for an answer of " + counted(waits.targets, "process", "processes") + "."),
    cycles.length > 0 && [el("h3", {}, "Wait for each other"), el("ul.cycles", {}, cycles.map((cycle) =>
      el("li", {}, cycle.processes.flatMap((process, at) => [at > 0 ? " \u2192 " : "",
        processButton(process.pid, processes, open) || process.pid]))))],
    ...shownOf(rows.length, waits.targets, "with most processes behind them")]);
  const nameOf = (row) => {
    const at = row.process ? processes.findPid(row.process.pid) : ABSENT;
    return at === ABSENT ? row.name : processes.title(at);
  };
  const table = new Table({
    label: "Waits", one: "process", many: "processes", count: rows.length, sort: "behind",
    columns: columnsOf(rows, [["name", "Waited for", nameOf],
      ["pid", "Pid", (row) => row.process && row.process.pid],
      ["behind", "Behind it", (row) => row.behind, countText],
      ["direct", "Wait for it", (row) => row.direct, countText],
      ["waits_for", "Waits itself for", (row) => row.waits_for],
      ["in_cycle", "In a cycle", (row) => (row.in_cycle ? "yes" : undefined)]]),
    name: (at) => nameOf(rows[at]),
    detail: (at) => el("div.unfolded", {}, rows[at].process
      ? processButton(rows[at].process.pid, processes, open)
      : el("p", {}, "The dump does not have this process.")),
  });
  add(box, [table.element]);
}

/** Whose terms a binary is kept by: a process, or what else holds terms. */
function ownerOf(leak, processes) {
  const row = leak.process ? processes.findPid(leak.process.pid) : ABSENT;
  return row !== ABSENT ? processes.title(row) : leak.table ? "table " + leak.table
    : leak.module ? "literals of " + leak.module : leak.process ? leak.process.pid
    : "persistent terms";
}

function showBinaries(binaries, leaks, processes, open) {
  const box = body("binaries");
  const held = leaks.leaks;
  add(box, [el("h3", {}, "Kept beyond what terms show"), el("p.hint", {}, "Pinned: the rest of " +
    "binaries of which terms show a part. Garbage: no term leads to them any more, and a " +
    "collection drops them. Looked at: " + counted(leaks.examined, "process", "processes") +
    " and " + counted(leaks.examined_others, "other owner", "other owners") + " that keep 64 KiB " +
    "or more."),
    held.length === 0 ? el("p", {}, "None of them keeps more than its terms show.")
      : [...shownOf(held.length, leaks.total, "with most"), new Table({
        label: "Binaries kept", one: "owner", many: "owners", count: held.length,
        sort: "pinned_bytes",
        columns: columnsOf(held, [["owner", "Owner", (leak) => ownerOf(leak, processes)],
          ["pinned_bytes", "Pinned", (leak) => leak.pinned_bytes, bytesText],
          ["garbage_bytes", "Garbage", (leak) => leak.garbage_bytes, bytesText],
          ["kept_bytes", "Keeps", (leak) => leak.kept_bytes, bytesText],
          ["shown_bytes", "Terms show", (leak) => leak.shown_bytes, bytesText],
          ["binaries", "Binaries", (leak) => leak.binaries, countText]]),
        name: (at) => ownerOf(held[at], processes),
        detail: (at) => el("div.unfolded", {}, el("dl.facts", {},
          fact("Process", held[at].process && processButton(held[at].process.pid, processes, open)),
          held[at].worst ? [fact("Most pinned", held[at].worst.address),
            fact("of bytes", bytesText(held[at].worst.size_bytes)),
            fact("of which terms show", bytesText(held[at].worst.shown_bytes))] : [])),
      }).element]]);
  const list = binaries.binaries;
  if (list.length === 0) {
    add(box, [el("p", {}, binaries.total === 0 ? "There are no reference-counted binaries." :
      "The dump does not say which reference-counted binaries there are.")]);
    return;
  }
  add(box, [el("h3", {}, "By size"), ...shownOf(list.length, binaries.total, "largest"),
    new Table({
      label: "Binaries by size", one: "binary", many: "binaries", count: list.length,
      sort: "size_bytes",
      columns: columnsOf(list, [["address", "Address", (one) => one.address],
        ["size_bytes", "Size", (one) => one.size_bytes, bytesText],
        ["references", "References", (one) => one.references, countText],
        ["holding_processes", "Holders", (one) => one.holding_processes, countText]]),
      name: (at) => list[at].address,
      detail: (at) => el("div.unfolded", {}, el("dl.facts", {},
        Object.entries(list[at]).map(([member, value]) => fact(member, String(value))))),
    }).element]);
}

/** A list of an answer, with a column for each member of its rows: `numbers` are amounts. */
function showRows(id, rows, total, sort, numbers) {
  const box = body(id);
  if (rows.length === 0) {
    add(box, [el("p", {}, "There are none.")]);
    return;
  }
  if (known(total) && rows.length < total) {
    add(box, [el("p.hint", {}, countText(rows.length) + " of " + countText(total) + ".")]);
  }
  const members = Array.from(new Set(rows.flatMap((row) => Object.keys(row))));
  const texts = Array.from(new Set(rows.flatMap((row) => Object.values(row).map(String))));
  const rank = new Map(texts.sort().map((text, at) => [text, at]));
  const columns = members.map((member) => (numbers.includes(member)
    ? { id: member, title: member, number: true,
        key: (at) => (known(rows[at][member]) ? rows[at][member] : NaN),
        cell: (at) => (known(rows[at][member]) ? countText(rows[at][member]) : undefined) }
    : { id: member, title: member,
        key: (at) => (known(rows[at][member]) ? rank.get(String(rows[at][member])) : NaN),
        cell: (at) => (known(rows[at][member]) ? String(rows[at][member]) : undefined) }));
  const table = new Table({
    label: byId(id + "-title").textContent, one: "row", many: "rows", count: rows.length,
    sort: members.includes(sort) ? sort : members[0], columns,
    name: (at) => String(Object.values(rows[at])[0]),
    detail: (at) => el("div.unfolded", {}, el("dl.facts", {},
      Object.entries(rows[at]).map(([member, value]) => fact(member, String(value))))),
  });
  add(box, [table.element]);
}

function showAbout({ summary }) {
  const { dump, node, capture, counts, layout } = summary;
  const times = (value) => (known(value) ? spanText(value / 1000) : undefined);
  add(body("about"), [el("dl.facts", {},
    fact("File", dump.file), fact("Size", bytesText(dump.file_bytes)),
    fact("ERTS", node.erts_version), fact("JIT", known(node.jit) ? String(node.jit) : undefined),
    fact("Schedulers", known(node.schedulers) ? countText(node.schedulers) : undefined),
    fact("Host", [node.host_name, node.os_release].filter(known).join(", ")),
    fact("OS process", known(node.os_pid) ? String(node.os_pid) : undefined),
    fact("Started", timeText(node.boot_us)), fact("Reductions", countText(counts.reductions)),
    fact("Mode of the capture", capture.mode), fact("Captured by", capture.tool_version),
    fact("Structure layout", capture.layout), fact("The capture took", times(capture.elapsed_ns)),
    fact("Stops of the node", known(capture.stops) ? countText(capture.stops) : undefined),
    fact("Longest stop", capture.stops > 0 ? times(capture.longest_stop_ns) : undefined),
    fact("Statuses", Object.entries(summary.statuses)
      .map(([status, count]) => countText(count) + " " + status).join(", ")),
    layout ? fact("Not verified", (layout.unverified || []).join(", ")) : [])]);
}
