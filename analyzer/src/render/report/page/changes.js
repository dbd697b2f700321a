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

/** A table of few rows. */
function plainTable(label, heads, rows) {
  return el("div.scroll.short", {}, el("table.plain", { "aria-label": label },
    el("thead", {}, el("tr", {}, heads.map(([title, number]) =>
      el("th" + (number ? ".number" : ""), { scope: "col" }, title)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, at) =>
      el("td" + (heads[at][1] ? ".number" : ".text"), {}, cell)))))));
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
  const nameOf = (thing) => thing.registered_name || thing.translated_initial_call ||
    thing.initial_call || thing.key;
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
  const processes = listOf("processes", "grown_most");
  const counts = sections.processes || {};
  add(box, [
    grown(processes.filter((thing) => !thing.appeared), "Grown processes", "memory", bytesText),
    grown(listOf("mailboxes", "grown_most"), "Grown mailboxes", "messages", countText),
    group(counts.appeared, processes.filter((thing) => thing.appeared), "Started", 2),
    group(counts.gone, listOf("processes", "gone_most"), "Exited", 1)]);
}
