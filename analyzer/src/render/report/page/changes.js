// What changed since an earlier dump: the answer of `diff --json` (schemas/json/diff.schema.json).
// Of a member that this page does not know nothing is shown; one that is not there is left out.

const TOTAL_TITLES = {
  processes: "Processes", process_memory: "Memory of processes", messages: "Queued messages",
  binaries: "Binaries", binary_memory: "Memory of binaries", atoms: "Atoms", modules: "Modules",
  code: "Code", reductions: "Reductions",
};
const TOTALS_OF_BYTES = new Set(["process_memory", "binary_memory", "code"]);

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
  const since = known(diff.elapsed_us) ? ", " + spanText(diff.elapsed_us) + " before this one" : "";
  add(box, [el("p", {}, "Since " + (diff.before && diff.before.file || "the earlier dump") + since +
    ".")]);
  if (diff.same_run === false) {
    add(box, [el("p.notice", {}, "The dumps are of different runs of a node: no process is in " +
      "both.")]);
  }
  const totals = Object.entries(diff.totals || {}).filter(([name]) => name in TOTAL_TITLES);
  if (totals.length > 0) {
    add(box, [plainTable("Totals before and after",
      [["", false], ["Before", true], ["After", true], ["Change", true]],
      totals.map(([name, { before, after }]) => {
        const text = TOTALS_OF_BYTES.has(name) ? bytesText : countText;
        const change = known(before) && known(after) ? after - before : undefined;
        return [TOTAL_TITLES[name], text(before), text(after), signed(change, text)];
      }))]);
  }
  const process = (line) => el("button.link", { type: "button",
    onclick: () => openProcess(line.pid) },
    line.registered_name || line.translated_initial_call || line.initial_call || line.pid);
  const grown = (list, title, value, text) => list && list.length > 0 && [el("h3", {}, title),
    plainTable(title, [["Process", false], ["Pid", false], ["Before", true], ["After", true],
      ["Change", true]],
      list.map((one) => {
        const [before, after] = [value(one.before), value(one.after)];
        return [process(one.after), one.after.pid, text(before), text(after),
          signed(known(before) && known(after) ? after - before : undefined, text)];
      }))];
  const group = (answer, title, linked) => answer && answer.count > 0 && [
    el("h3", {}, title + ": " + countText(answer.count) +
      (known(answer.memory) ? ", " + bytesText(answer.memory) : "")),
    el("details", {}, el("summary", {}, "The largest " + countText(answer.largest.length)),
      plainTable(title, [["Process", false], ["Pid", false], ["Memory", true], ["Messages", true]],
        answer.largest.map((line) => [
          linked ? process(line) : line.registered_name || line.translated_initial_call ||
            line.initial_call || line.pid,
          line.pid, bytesText(line.memory), countText(line.message_queue_len)])))];
  add(box, [
    grown(diff.most_memory_gained, "Grown processes", (line) => line.memory, bytesText),
    grown(diff.most_messages_gained, "Grown mailboxes", (line) => line.message_queue_len, countText),
    group(diff.born, "Started", true),
    group(diff.gone, "Exited", false)]);
}
