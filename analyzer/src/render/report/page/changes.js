// What changed since an earlier dump: the answer of `diff --json` (schemas/json/diff.schema.json).
// Of a member that this page does not know nothing is shown; one that is not there is left out.

// Of each section what is summed up, its title, and whether it is bytes.
const TOTALS = [
  ["processes", "total_processes", "Processes"], ["processes", "total_memory", "Memory of processes", true],
  ["processes", "total_messages", "Queued messages"], ["binaries", "total_binaries", "Binaries"],
  ["binaries", "total_bytes", "Memory of binaries", true], ["atoms", "total_atoms", "Atoms"],
  ["ets_tables", "total_tables", "ETS tables"], ["ets_tables", "total_memory", "Memory of ETS tables", true],
  ["modules", "total_instances", "Modules"], ["modules", "total_code", "Code", true],
];

/** The number that one of the two dumps says. */
function valueIn(series, dump) {
  const found = series && series.values.find((one) => one.dump === dump);
  return found && found.value;
}

function signed(value, text) {
  if (!known(value)) return "";
  return (value > 0 ? "+" : "") + (value < 0 ? "\u2212" : "") + text(Math.abs(value));
}

// Titles of sections whose changes are shown as tables; processes and mailboxes have their own.
const SECTION_TITLES = {
  memory: "Memory by category", registered_names: "Registered names",
  groups: "Groups of processes by initial call", ets_tables: "ETS tables",
  ets_names: "ETS tables by name", persistent_terms: "Persistent terms",
  binary_holders: "Binaries by the process that refers to them",
  binaries: "Reference-counted binaries by size", atoms: "Atoms by name (N: digits, *: parts)",
  modules: "Modules", ports: "Ports by name", sockets: "Sockets by protocol and state",
};
const CHANGED = { registered_names: "restarted", modules: "reloaded" };
/** Measures of things that are bytes. */
const BYTES = ["bytes", "memory", "text_bytes", "code", "queue", "queued"];
const measureText = (measure) => (BYTES.includes(measure) ? bytesText : countText);
const worded = (name) => name.replaceAll("_", " ");

/** A table of few rows. */
function plainTable(label, heads, rows) {
  return el("div.scroll.short", {}, el("table.plain", { "aria-label": label },
    el("thead", {}, el("tr", {}, heads.map(([title, number]) =>
      el("th" + (number ? ".number" : ""), { scope: "col" }, title)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, at) =>
      el("td" + (heads[at][1] ? ".number" : ".text"), {}, cell)))))));
}

/** The first or the last value that a dump says. */
function endsOf(series) {
  const values = (series && series.values) || [];
  return values.length === 0 ? [undefined, undefined]
    : [values[0].value, values[values.length - 1].value];
}

/** What grew most, of all sections. */
function growthTable(growth, nameOf) {
  return plainTable("Grew most", [["Share", true], ["Section", false], ["What", false], ["", false],
    ["Before", true], ["After", true], ["Change", true]],
    growth.map((thing) => {
      const text = measureText(thing.measure);
      const [before, after] = endsOf(thing[thing.measure]);
      return [(thing.share_per_mille / 10).toFixed(1) + "%", worded(thing.section), nameOf(thing),
        worded(thing.measure), text(before), text(after),
        signed(thing[thing.measure] && thing[thing.measure].change, text)];
    }));
}

/** One section's changes: how many, and those that `diff` lists. */
function sectionChanges(name, section, nameOf) {
  if (!known(section.things)) return [];
  const { grown_most: grown, gone_most: gone, changed_most: changed, turnover } = section;
  const told = [[section.appeared, "new"], [section.gone, "gone"], [section.grown, "grew"],
    [section.shrunk, "shrank"], [section.changed, CHANGED[name] || "changed"]]
    .filter(([count]) => count > 0).map(([count, what]) => countText(count) + " " + what);
  if (told.length === 0) return [];
  const listed = [...grown, ...gone];
  const measures = Array.from(new Set(listed.flatMap((thing) =>
    Object.keys(thing).filter((member) => thing[member] && Array.isArray(thing[member].values)))));
  const note = (thing) => (thing.appeared ? "new" : thing.gone ? "gone" : "");
  const detail = (thing) => (thing.pid_after ? thing.pid_before + " \u2192 " + thing.pid_after
    : thing.vsn_after ? thing.vsn_before + " \u2192 " + thing.vsn_after : "");
  return el("details.section-changes", { "data-section": name },
    el("summary", {}, (SECTION_TITLES[name] || worded(name)) + ": " + told.join(", ")),
    listed.length > 0 && plainTable(SECTION_TITLES[name] || name,
      [["", false], ...measures.flatMap((measure) => [[worded(measure), true], ["Change", true]]),
        ["", false]],
      listed.map((thing) => [nameOf(thing), ...measures.flatMap((measure) => {
        const series = thing[measure];
        const text = measureText(measure);
        return [text(endsOf(series)[thing.gone ? 0 : 1]), signed(series && series.change, text)];
      }), note(thing)])),
    changed.length > 0 && plainTable("Changed", [["", false], ["", false]],
      changed.map((thing) => [nameOf(thing), detail(thing)])),
    turnover && turnover.length > 0 && turnoverTable(turnover));
}

function turnoverTable(turnover) {
  return plainTable("Started and exited by initial call",
    [["Initial call", false], ["Started", true], ["Exited", true]],
    turnover.map((of) => [of.group, countText(of.appeared), countText(of.gone)]));
}

function showChanges(diff, openProcess) {
  const box = body("changes");
  const sections = diff.sections || {};
  const since = known(diff.elapsed_us) ? ", " + spanText(diff.elapsed_us) + " before this one" : "";
  const before = diff.dumps && diff.dumps[0] && diff.dumps[0].dump.file;
  add(box, [el("p", {}, "Since " + (before || "the earlier dump") + since + ".")]);
  if (diff.same_run === false) {
    add(box, [el("p.notice", {}, "The dumps are of different runs of a node: processes are compared " +
      "by registered name, label and initial call.")]);
  }
  const totals = TOTALS.filter(([section, name]) => sections[section] &&
    known(sections[section][name] && sections[section][name].change));
  if (totals.length > 0) {
    add(box, [plainTable("Totals before and after",
      [["", false], ["Before", true], ["After", true], ["Change", true]],
      totals.map(([section, name, title, bytes]) => {
        const text = bytes ? bytesText : countText;
        const series = sections[section][name];
        return [title, text(valueIn(series, 1)), text(valueIn(series, 2)),
          signed(series.change, text)];
      }))]);
  }
  const nameOf = (thing) => thing.registered_name || thing.label || thing.process_name ||
    thing.translated_initial_call || thing.initial_call || thing.name || thing.key;
  const process = (thing) => thing.pid && !thing.gone
    ? el("button.link", { type: "button", onclick: () => openProcess(thing.pid) }, nameOf(thing))
    : thing.pid ? nameOf(thing) : thing.key;
  const listOf = (section, name) => sections[section] && sections[section][name] || [];
  const grown = (things, title, measure, text) => things.length > 0 && [el("h3", {}, title),
    plainTable(title, [["Process", false], ["Pid", false], ["Before", true], ["After", true],
      ["Change", true]],
      things.map((thing) => {
        const series = thing[measure];
        return [process(thing), thing.pid || "", text(valueIn(series, 1)),
          text(valueIn(series, 2)), signed(series.change, text)];
      }))];
  const group = (count, things, title, dump) => count > 0 && [
    el("h3", {}, title + ": " + countText(count)),
    things.length > 0 && el("details", {},
      el("summary", {}, "The largest " + countText(things.length)),
      plainTable(title, [["Process", false], ["Pid", false], ["Memory", true], ["Messages", true]],
        things.map((thing) => [process(thing), thing.pid || "",
          bytesText(valueIn(thing.memory, dump)), countText(valueIn(thing.messages, dump))])))];
  const growth = diff.growth || [];
  add(box, [el("h3", {}, "Grew most"), growth.length > 0 ? growthTable(growth, nameOf)
    : el("p", {}, "Nothing grew by 1% of the node's memory, processes, atoms, tables or ports.")]);
  const processes = listOf("processes", "grown_most");
  const counts = sections.processes || {};
  add(box, [
    grown(processes.filter((thing) => !thing.appeared), "Grown processes", "memory", bytesText),
    grown(listOf("mailboxes", "grown_most"), "Grown mailboxes", "messages", countText),
    group(counts.appeared, processes.filter((thing) => thing.appeared), "Started", 2),
    group(counts.gone, listOf("processes", "gone_most"), "Exited", 1),
    counts.turnover && counts.turnover.length > 0 && [
      el("h3", {}, "Started and exited by initial call"), turnoverTable(counts.turnover)],
    el("h3", {}, "All sections"),
    Object.entries(sections).filter(([name]) => name in SECTION_TITLES)
      .map(([name, section]) => sectionChanges(name, section, nameOf))]);
}
