// Reads the data and makes the sections.

const SECTIONS = ["overview", "findings", "changes", "history", "memory", "processes", "stacks", "tree",
                  "mailboxes", "waits", "tables", "binaries", "sockets", "timers", "atoms",
                  "about"];

function setUpTheme() {
  const themes = ["", "light", "dark"];
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const next = themes[(themes.indexOf(root.dataset.theme || "") + 1) % themes.length];
    root.dataset.theme = next;
    fill(byId("theme"), next === "" ? "Theme" : "Theme: " + next);
  });
}

function setUpNavigation() {
  const shown = SECTIONS.filter((id) => !byId(id).hidden);
  add(byId("nav"), shown.map((id) => el("a", { href: "#" + id },
    id === "overview" ? "Overview" : byId(id + "-title").textContent)));
  const links = new Map(Array.from(byId("nav").children, (link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const [id, link] of links) {
        if (id === entry.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const id of shown) seen.observe(byId(id));
  addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/" && !typing) {
      event.preventDefault();
      scrollTo(byId("processes"));
      byId("filter").focus({ preventScroll: true });
    } else if (/^[1-9]$/.test(event.key) && !typing && shown[event.key - 1]) {
      scrollTo(byId(shown[event.key - 1]));
    }
  });
}

async function start() {
  setUpTheme();
  const data = await readData();
  const { processes } = data;
  showOverview(data);
  const list = new ProcessList(processes);
  const open = (row) => list.open(row);
  showFindings(data.summary, processes, open);
  if (data.diff) showChanges(data.diff, (pid) => list.openPid(pid));
  if (data.history) showHistory(data.history, data.diff, processes, open);
  showMemory(data, open);
  const graph = new FlameGraph(processes, (keeps, title) => {
    list.choose(keeps, title);
    scrollTo(byId("processes"));
  });
  add(body("stacks"), [el("p.hint", {}, "The outermost function is at the top. A click makes a " +
    "function as wide as the graph; arrow keys go from function to function, Escape back."),
    graph.element]);
  graph.draw();
  add(body("tree"), [el("p.hint", {}, "A process is below the one that started it, with the sums " +
    "of all below it. Arrow keys go and unfold, Enter shows the process."),
    new ProcessTree(processes, open).element]);
  showMailboxes(processes, open);
  showWaits(data.waits, processes, open);
  showTables(data.ets, processes, open);
  showBinaries(data.binaries, data.leaks, processes, open);
  if (data.sockets) {
    showRows("sockets", data.sockets.sockets, data.sockets.total, "receive_queue",
             ["receive_queue", "send_queue"]);
  }
  if (data.timers) showRows("timers", data.timers.timers, data.timers.total, "left_ms", ["left_ms"]);
  if (data.atoms) showRows("atoms", data.atoms.groups, data.atoms.group_count, "count", ["count", "bytes"]);
  showAbout(data);
  setUpNavigation();
  byId("loading").remove();
  performance.mark("shown");
  document.documentElement.dataset.ready = "true";
}

start().catch((error) => {
  fill(byId("loading"), "The page cannot show its data: " + error.message +
    ". It needs a browser of 2023 or later.");
});
