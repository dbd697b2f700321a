// What beamdump-watch read of the node before the dump: the answer of `history --json`
// (schemas/json/activity/history.schema.json).

const tenthsText = (value) => (value / 10).toFixed(1) + "%";

// Of each quantity its member, its title, and how its values are shown.
const QUANTITIES = [
  ["memory", "Memory against the limit", bytesText], ["resident", "Resident", bytesText],
  ["total", "Total, as the node counts", bytesText], ["processes_memory", "Processes' memory", bytesText],
  ["system", "System", bytesText], ["binary", "Binaries", bytesText], ["code", "Code", bytesText],
  ["ets", "ETS tables", bytesText], ["processes", "Processes", countText], ["ports", "Ports", countText],
  ["atoms", "Atoms", countText], ["run_queue", "Run queues", countText],
  ["processor", "Processor time, of one processor", tenthsText],
  ["pressure", "Waited for memory", tenthsText], ["limit_reached", "Limit reached", countText],
  ["oom_kills", "OOM kills", countText]];

function svg(name, attributes, ...children) {
  const made = document.createElementNS(byId("blank-chart").namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A line over time: [time, value]; a value that is not known interrupts it. `mark`: a time. */
function chart(title, points, shown, mark) {
  const told = points.filter(([, value]) => known(value));
  const values = told.map(([, value]) => value);
  const least = values.reduce((a, b) => Math.min(a, b));
  const most = values.reduce((a, b) => Math.max(a, b));
  const [begin, end] = [points[0][0], points[points.length - 1][0]];
  const x = (time) => (end > begin ? 1000 * (time - begin) / (end - begin) : 0).toFixed(1);
  const y = (value) => (most > least ? 100 - 100 * (value - least) / (most - least) : 50).toFixed(1);
  let path = "";
  let joined = false;
  for (const [time, value] of points) {
    if (known(value)) path += (joined ? "L" : "M") + x(time) + " " + y(value);
    joined = known(value);
  }
  const last = values[values.length - 1];
  const value = el("span.value", {}, shown(last));
  const box = svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img",
    "aria-label": title + ": " + shown(values[0]) + " at first, " + shown(last) + " at last, " +
      shown(least) + " to " + shown(most) }, svg("path", { d: path }));
  if (known(mark) && mark >= begin && mark <= end) {
    box.append(svg("line", { x1: x(mark), x2: x(mark), y1: 0, y2: 100 }));
  }
  box.addEventListener("pointermove", (event) => {
    const { left, width } = box.getBoundingClientRect();
    const at = begin + (end - begin) * (event.clientX - left) / width;
    const near = told.reduce((best, one) =>
      (Math.abs(one[0] - at) < Math.abs(best[0] - at) ? one : best));
    fill(value, timeText(near[0]).slice(11, 19) + ": " + shown(near[1]));
  });
  box.addEventListener("pointerleave", () => fill(value, shown(last)));
  return el("figure.chart", {}, el("figcaption", {}, el("b", {}, title), value), box,
    el("p.hint.range", {}, least === most ? "always " + shown(least)
      : shown(least) + " to " + shown(most)));
}

/** Processes that grew most, each with its line. */
function grownCharts(history, title, growth, member, shown, processes, open) {
  const grown = history.processes.filter((one) => known(one[growth]))
    .sort((a, b) => b[growth] - a[growth]).slice(0, 10);
  return grown.length === 0 ? [] : [el("h3", {}, title), el("div.charts", {}, grown.map((one) => {
    const made = chart((one.name || one.initial_call || "") + " " + one.pid,
      one.seen.map((seen) => [seen.at_us, seen[member]]), shown);
    add(made, [processButton(one.pid, processes, open)]);
    return made;
  }))];
}

/** Functions that took most processor time, in all profiles or in the last ones, each with its line. */
function functionCharts(profiles) {
  if (!profiles) return [];
  const lastAt = profiles.length - Math.min(5, Math.floor(profiles.length / 2));
  const functions = new Map();
  const time = (some) => some.reduce((sum, one) => sum + one.took_us / 1e6, 0);
  const [all, last] = [time(profiles), time(profiles.slice(lastAt))];
  profiles.forEach((profile, at) => profile.functions.forEach((one) => {
    if (!functions.has(one.function)) functions.set(one.function, { inAll: 0, inLast: 0, of: new Map() });
    const told = functions.get(one.function);
    told.of.set(at, one.self);
    told.inAll += one.self / profile.rate / all;
    if (at >= lastAt) told.inLast += one.self / profile.rate / last;
  }));
  const rank = ([, told]) => Math.max(told.inAll, told.inLast);
  const shown = [...functions].sort((a, b) => rank(b) - rank(a)).slice(0, 10);
  return shown.length === 0 ? [] : [el("h3", {}, "Functions that took most processor time, of one processor"),
    el("div.charts", {}, shown.map(([name, { of }]) => chart(name, profiles.map((profile, at) =>
      [profile.at_us, 1e9 * (of.get(at) || 0) / profile.rate / profile.took_us]), tenthsText)))];
}

function showHistory(history, diff, processes, open) {
  const { readings } = history;
  const begin = readings[0].at_us;
  const end = readings[readings.length - 1].at_us;
  // The earlier dump of the same run, where the page has one.
  const before = diff && diff.same_run && diff.dumps[0].dump.captured_us;
  add(body("history"), [el("p.hint", {}, counted(readings.length, "reading", "readings") +
    " of beamdump-watch, from " + timeText(begin) + " to " + timeText(end) + ". " + history.end +
    (known(before) && before !== false && before >= begin && before <= end
      ? " The upright line is the earlier dump." : "")),
    el("div.charts", {}, QUANTITIES.map(([member, title, shown]) => {
      const points = readings.map((reading) => [reading.at_us, reading[member]]);
      return points.some(([, value]) => known(value)) && chart(title, points, shown, before);
    })),
    ...grownCharts(history, "Heaps that grew most", "heap_growth", "heap", bytesText, processes, open),
    ...grownCharts(history, "Mailboxes that grew most", "messages_growth", "messages", countText,
      processes, open),
    ...functionCharts(history.profiles)]);
}
