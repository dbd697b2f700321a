"""The page that `report` writes: its data are those of the commands, and a browser shows them."""

import json
import re
import resource
import subprocess
import sys
import unittest

import made_dumps
from report_case import CONTRAST, PROGRAM, SOURCES, ReportCase
from support import report_page

SAMPLES = {"sample": 3, "later": 0, "cut": 3, "inferred": 3, "tables": 0, "node_memory": 0,
           "crash": 0, "harmful": 0, "waiting": 0, "node": 0, "watched": 0}
CROWD = 100_000
MOST_BYTES = 5_000_000
MOST_ELEMENTS = 10_000


class Report(ReportCase):
    def test_data_are_those_of_the_commands(self):
        for name, status in SAMPLES.items():
            with self.subTest(dump=name):
                page = self.page(name, status=status).read_text()
                lines = subprocess.run([PROGRAM, "export", "ndjson", f"{name}.beamdump"],
                                       capture_output=True, cwd=self.folder).stdout.splitlines()
                report_page.compare(self, report_page.Data(page), map(json.loads, lines),
                                  self.answer(name))

    def test_every_page_opens(self):
        for name, status in SAMPLES.items():
            with self.subTest(dump=name):
                self.open(self.page(name, status=status))

    def test_what_a_dump_does_not_say_is_not_shown(self):
        self.open(self.page("crash"))
        tiles = self.all_texts("#tiles dt")
        self.assertIn("Processes", tiles)
        for absent in ("Stops of the node", "Started", "Host"):
            self.assertNotIn(absent, self.all_texts("#about dt"))
        self.assertNotIn("up", self.all_texts("#lead")[0].split())
        self.assertIn("Slogan: boom", self.all_texts("#notices p"))
        self.open(self.page("sample", status=3))
        self.assertIn("The dump does not have the node's ETS tables.", self.all_texts("#tables p"))
        void = self.answer("sample")("processes", "--filter", "status=running")["processes"][0]
        self.filter("pid:" + void["pid"])
        self.browser.click("#processes .unfold")
        self.assertEqual(self.all_texts("#processes .stack code"), ["(stack not in the dump)"])

    def test_sorting_by_clicks(self):
        self.open(self.page("node"))
        processes = self.answer("node")("processes", "--limit", "0")["processes"]
        self.assertGreater(len(processes), 30)
        self.assertEqual(self.column(1)[:10], [one["pid"] for one in processes[:10]])
        heading = "#processes th.column-reductions"
        self.browser.click(heading + " button")
        most = sorted((one["reductions"] for one in processes), reverse=True)
        self.assertEqual(self.column(6)[:10], [f"{count:,}" for count in most[:10]])
        self.assertEqual(self.browser.run(
            f"document.querySelector('{heading}').getAttribute('aria-sort')"), "descending")
        self.browser.click(heading + " button")
        self.assertEqual(self.column(6)[:10], [f"{count:,}" for count in most[::-1][:10]])
        self.browser.click("#processes th.column-name button")
        names = sorted((one.get("registered_name", one["initial_call"]) for one in processes),
                       key=str.lower)
        self.assertEqual(self.column(2)[:10], names[:10])

    def test_filters(self):
        self.open(self.page("node"))
        processes = self.answer("node")("processes", "--limit", "0")["processes"]
        folded = subprocess.run([PROGRAM, "export", "folded", "node.beamdump"], cwd=self.folder,
                                capture_output=True, text=True).stdout.splitlines()
        servers = sum(int(line.rsplit(" ", 1)[1]) for line in folded if "gen_7:run" in line)
        self.assertGreater(servers, 0)
        expected = {
            "queue>0": sum(one["message_queue_len"] > 0 for one in processes),
            "memory>=10k": sum(one["memory"] >= 10240 for one in processes),
            "name:NAME_1": sum("name_1" in one.get("registered_name", "") for one in processes),
            "-call:worker_1 status:waiting": sum("worker_1" not in one["initial_call"]
                                                 for one in processes),
            "stack:gen_7:run": servers,
            "-stack:gen_7:run": len(processes) - servers,
            "nothing like it": 0,
            "": len(processes),
        }
        for text, count in expected.items():
            with self.subTest(filter=text):
                self.assertEqual(self.filter(text), count)

    def test_stacks_unfold(self):
        self.open(self.page("node"))
        pid = self.answer("node")("processes")["processes"][0]["pid"]
        frames = self.answer("node")("backtrace", pid)["frames"]
        self.browser.click("#processes .unfold")
        shown = self.all_texts("#processes tr.details .stack code")
        self.assertEqual(shown, [frame.get("function", "(unknown function)") for frame in frames])
        self.assertEqual(self.all_texts("#processes .unfold[aria-expanded=true]"), [""])
        self.browser.click("#processes .unfold")
        self.assertEqual(self.all_texts("#processes tr.details"), [])

    def test_labels_name_processes(self):
        self.open(self.page("waiting"))
        labels = [f"{{worker,{number}}}" for number in range(made_dumps.CALLERS)]
        self.assertEqual(sorted(self.column(2)), sorted(["one", "other", *labels]))
        self.assertEqual(self.filter("name:{worker,7}"), 1)
        self.browser.click("#processes .unfold")
        self.assertIn("gen:do_call/4", self.all_texts("#processes .stack code"))

    def test_waits(self):
        self.open(self.page("waiting"))
        answer = self.answer("waiting")("waits")
        self.assertEqual((answer["waiting"], answer["targets"]), (made_dumps.CALLERS + 2, 2))
        self.assertIn("32 processes wait for an answer of 2 processes.", self.all_texts("#waits p"))
        self.assertEqual(self.all_texts("#waits .cycles button"), ["one <0.10.0>", "other <0.11.0>"])
        rows = [[row["process"]["registered_name"], row["name"], str(row["behind"]),
                 str(row["direct"]), row["waits_for"], "yes"] for row in answer["waited_for"]]
        self.assertEqual([rows[at][0] for at in (0, 1)], ["one", "other"])
        shown = [self.column(number, "waits") for number in range(1, 7)]
        self.assertEqual([list(row) for row in zip(*shown)], rows)
        # A name leads to its process.
        self.browser.click("#waits .cycles li button:last-of-type")
        self.assertIn("Registered nameother", self.all_texts("#processes tr.details")[0])
        self.open(self.page("node"))
        self.assertIn("No process waits for an answer, as far as the dump says.",
                      self.all_texts("#waits p"))

    def test_keyboard(self):
        self.open(self.page("node"))
        focused = "document.activeElement.closest('tr')?.dataset.place"
        self.browser.key("/")
        self.assertEqual(self.browser.run("document.activeElement.id"), "filter")
        self.browser.run("document.querySelector('#processes .unfold').focus()")
        for key, place in (("ArrowDown", "1"), ("ArrowDown", "2"), ("ArrowUp", "1"), ("Home", "0")):
            self.browser.key(key)
            self.assertEqual(self.browser.run(focused), place)
        self.browser.key("Enter")
        self.assertEqual(len(self.all_texts("#processes tr.details")), 1)
        self.assertEqual(self.browser.run(focused), "0")
        self.browser.key("End")
        count = len(self.answer("node")("processes", "--limit", "0")["processes"])
        self.assertEqual(self.browser.run(focused), str(count - 1))
        self.browser.run("document.querySelector('#tree [tabindex=\"0\"]').focus()")
        level = "document.activeElement.getAttribute('aria-level')"
        self.assertEqual(self.browser.run(level), "1")
        if self.browser.run("document.activeElement.getAttribute('aria-expanded')") == "false":
            self.browser.key("ArrowRight")
        self.browser.key("ArrowRight")
        self.assertEqual(self.browser.run(level), "2")
        self.browser.run("document.querySelector('.flame [data-node=\"0\"]').focus()")
        self.browser.key("ArrowDown")
        self.assertNotEqual(self.browser.run("document.activeElement.dataset.node"), "0")
        self.browser.run("document.querySelector('.cell').focus()")
        self.browser.key("Enter")
        self.assertEqual(len(self.all_texts(".trail b")), 1)
        self.assertEqual(len(self.all_texts(".trail button")), 1)
        self.browser.key("Escape")
        self.assertEqual(len(self.all_texts(".trail button")), 0)

    def test_flame_graph_and_its_processes(self):
        self.open(self.page("node"))
        processes = self.answer("node")("processes", "--limit", "0")["processes"]
        total = self.browser.run("document.querySelector('#stacks .status').textContent")
        self.assertEqual(total, f"all stacks, {len(processes)} processes, 100%")
        labels = {label.split(",")[0]: label for label in self.browser.run(
            "Array.from(document.querySelectorAll('.frame'), (f) => f.getAttribute('aria-label'))")}
        looping = next(label for name, label in labels.items() if name == "gen_7:run/2")
        self.browser.run("Array.from(document.querySelectorAll('.frame')).find((f) => "
                         f"f.getAttribute('aria-label') === {json.dumps(looping)}).click()")
        self.browser.run("Array.from(document.querySelectorAll('#stacks button')).find((b) => "
                         "b.textContent === 'List these processes').click()")
        shown = self.browser.run("document.querySelector('#processes .status').textContent")
        self.assertEqual(shown.split()[0], looping.split(", ")[1].split()[0])
        self.browser.run("document.querySelector('#stacks select').value = 'memory';"
                         "document.querySelector('#stacks select').dispatchEvent(new Event('change'))")
        self.assertIn("MiB, 100%", self.browser.run(
            "document.querySelector('#stacks .status').textContent"))

    def test_tree_has_all_processes(self):
        self.open(self.page("node"))
        lines = self.answer("node")("tree", "--depth", "2", "--limit", "0")["lines"]
        roots = [line for line in lines if line["depth"] == 0]
        label = '#tree [aria-level="%d"]'
        self.assertEqual(len(self.all_texts(label % 1)), len(roots))
        self.assertIn(f"{roots[0]['subtree_processes']} processes",
                      self.all_texts(label % 1 + " > .node .sum")[0])
        self.assertEqual(self.all_texts(label % 2 + " > .node .dim"),
                         [line["process"]["pid"] + " " + line["process"]["initial_call"]
                          if "registered_name" in line["process"]
                          else line["process"]["initial_call"]
                          for line in lines if line["depth"] == 1 and "process" in line])
        self.browser.click(label % 2 + " .node button")
        self.assertEqual(len(self.all_texts("#processes tr.details")), 1)

    def test_mailboxes_and_tables(self):
        self.open(self.page("harmful"))
        words = list(made_dumps.HARMFUL)
        self.assertEqual(len(self.column(1, "mailboxes")), len(words))
        self.assertEqual(len(self.column(1, "tables")), len(words))
        self.assertEqual(self.filter("pwned", "tables", "#table-filter"),
                         sum("pwned" in word for word in words))
        self.browser.click("#mailboxes .unfold")
        self.assertEqual(len(self.all_texts("#mailboxes .bars li")), 1)

    def test_lists(self):
        self.open(self.page("sample", status=3))
        answer = self.answer("sample")
        groups = answer("atoms", "--limit", "1000")["groups"]
        counts = [f"{group['count']:,}" for group in groups]
        self.assertGreater(len(groups), 3)
        self.assertEqual(self.column(2, "atoms"), counts)
        timers = answer("timers", may_fail=True)
        self.assertEqual(self.browser.run("document.querySelector('#timers').hidden"), timers is None)

    def test_names_are_those_of_the_lists(self):
        self.open(self.page("node"))
        data = report_page.Data(self.page("node").read_text())
        names = {one["pid"]: one.get("registered_name", one["initial_call"])
                 for one in self.answer("node")("processes", "--limit", "0")["processes"]}
        self.assertGreater(len(names), 30)
        for pid, name in names.items():
            self.assertEqual(data.text(data.by_pid[pid]["shown"]), name)
        pid, name = next(iter(names.items()))
        self.filter("pid:" + pid)
        self.assertEqual(self.column(2), [name])

    def test_harmful_texts_are_only_texts(self):
        path = self.page("harmful")
        page = path.read_text()
        self.assertEqual(len(re.findall(r"<script\b", page)), 4)
        self.assertEqual(page.count("</script"), 4)
        for part in ("answers", "names"):
            self.assertNotRegex(report_page.element(page, part), "[<>&\u2028\u2029]")
        self.open(path)
        self.assertEqual(self.browser.run("[typeof pwned, document.images.length, "
                                          "document.querySelectorAll('svg:not(#blank-chart), iframe, b script').length,"
                                          "document.scripts.length]"), ["undefined", 0, 0, 4])
        shown = "\n".join(self.column(2))
        for word in made_dumps.HARMFUL:
            self.assertIn(re.sub("[\u2028\u2029\u202E]", lambda c: f"\\x{{{ord(c[0]):X}}}",
                                 made_dumps.atom(word)), shown)
        self.browser.run("document.querySelector('#processes .unfold').focus()")
        for word in made_dumps.HARMFUL:
            self.browser.key("Enter")
            self.assertIn(f"m:{made_dumps.atom(word)}/2" if "\u2028" not in word else "reversed",
                          "\n".join(self.all_texts("#processes tr.details .stack code")))
            self.browser.key("ArrowDown")
        self.assertEqual(self.browser.complaints(), [])

    def test_the_page_cannot_run_or_load_anything_else(self):
        self.open(self.page("crash"))
        blocked = self.browser.run("""new Promise((done) => {
            const seen = new Set();
            addEventListener("securitypolicyviolation", (event) => {
                seen.add(event.effectiveDirective);
                if (seen.size === 4) done(Array.from(seen).sort());
            });
            document.body.insertAdjacentHTML("beforeend",
                "<img src='http://127.0.0.1:9/x' onerror='window.ran = 1'><style>p{}</style>");
            fetch("http://127.0.0.1:9/").catch(() => {});
            const script = document.createElement("script");
            script.textContent = "window.ran = 1";
            document.body.append(script);
            document.querySelector("img").dispatchEvent(new Event("error"));
        })""")
        self.assertEqual(blocked, ["connect-src", "img-src", "script-src-elem", "style-src-elem"]
                         if "script-src-attr" not in blocked else blocked)
        self.assertEqual(self.browser.run("typeof ran"), "undefined")

    def test_scripts_make_no_elements_of_text(self):
        for script in (SOURCES / "analyzer" / "src" / "render" / "report" / "page").glob("*.js"):
            self.assertNotRegex(script.read_text(),
                                r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|"
                                r"https?:|\.src\b", script.name)

    def test_history(self):
        self.open(self.page("watched"))
        history = self.answer("watched")("history")
        charts = self.all_texts("#history .charts:first-of-type .chart b")
        told = {name for reading in history["readings"] for name in reading} - {"at_us", "limit"}
        self.assertEqual(len(charts), len(told))
        labels = self.browser.run("Array.from(document.querySelectorAll('#history .chart svg'), "
                                  "(e) => e.getAttribute('aria-label'))")
        self.assertIn("Memory against the limit: 100 MiB at first, 159 MiB at last, 100 MiB to 159 MiB", labels)
        self.assertIn("alpha <0.1.0>: 6.0 MiB at first, 60.0 MiB at last, 6.0 MiB to 60.0 MiB", labels)
        path = self.browser.run("document.querySelector('#history svg path').getAttribute('d')")
        self.assertEqual((path[0], path.count("L")), ("M", len(history["readings"]) - 1))
        self.assertEqual(self.all_texts("#history line"), [])
        self.browser.run("""(() => {
            const chart = document.querySelector("#history .chart svg");
            const box = chart.getBoundingClientRect();
            chart.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left }));
        })()""")
        self.assertEqual(self.all_texts("#history .chart .value")[0], "22:13:20: 100 MiB")
        for scheme in ("light", "dark"):
            self.browser.run(f"document.documentElement.dataset.theme = '{scheme}'")
            self.assertGreater(self.browser.run(CONTRAST % json.dumps("#history *")), 4.5, scheme)
        self.open(self.page("sample", status=3))
        self.assertTrue(self.browser.run("document.getElementById('history').hidden"))

    def test_history_marks_the_earlier_dump(self):
        self.open(self.page("watched-since", "sample.beamdump", "watched.beamdump"))
        self.assertEqual(self.browser.run("document.querySelector('#history line').getAttribute('x1')"),
                         f"{1000 * 100 / 590:.1f}")

    def test_changes_between_two_dumps(self):
        path = self.page("two", "sample.beamdump", "later.beamdump")
        self.open(path)
        diff = json.loads(self.run_analyze(0, "diff", "sample.beamdump", "later.beamdump",
                                           "--json").stdout)
        heads = self.all_texts("#changes h3")
        processes = diff["sections"]["processes"]
        for name, title in (("appeared", "Started"), ("gone", "Exited")):
            self.assertGreater(processes[name], 0)
            self.assertIn(f"{title}: {processes[name]}", heads)
        self.assertIn("Grown processes", heads)
        self.assertIn("Grown mailboxes", heads)
        self.assertIn("Since sample.beamdump", self.all_texts("#changes p")[0])
        # What diff lists of each section, and what grew most.
        tables = self.browser.run(
            "Object.fromEntries(Array.from(document.querySelectorAll('#changes .section-changes'),"
            " (e) => [e.dataset.section, e.querySelectorAll('tbody tr').length]))")
        expected = {}
        for name, section in diff["sections"].items():
            listed = sum(len(section.get(part, [])) for part in
                         ("grown_most", "gone_most", "changed_most", "turnover"))
            told = any(section.get(part) for part in
                       ("appeared", "gone", "grown", "shrunk", "changed"))
            if name not in ("processes", "mailboxes") and told:
                expected[name] = listed
        self.assertGreater(len(expected), 1)
        self.assertEqual(tables, expected)
        self.assertEqual(len(self.all_texts("#changes table[aria-label='Grew most'] tbody tr")),
                         len(diff["growth"]))
        self.open(self.page("later"))
        self.assertTrue(self.browser.run("document.getElementById('changes').hidden"))

    def test_light_dark_and_paper(self):
        self.open(self.page("node"))
        colour = "getComputedStyle(document.body).backgroundColor"
        seen = set()
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": scheme}])
            seen.add(self.browser.run(colour))
        self.assertEqual(len(seen), 2)
        self.browser.click("#theme")
        self.assertEqual(self.browser.run("document.documentElement.dataset.theme"), "light")
        self.browser.call("Emulation.setEmulatedMedia", features=[])
        paper = self.browser.call("Page.printToPDF")["data"]
        self.assertGreater(len(paper), 10_000)
        self.assertEqual(self.browser.complaints(), [])

    def test_contrast(self):
        """Texts against their backgrounds, WCAG AA: 4.5."""
        self.open(self.page("node"))
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": scheme},
                                        {"name": "prefers-reduced-motion", "value": "reduce"}])
            for selector in ("p", ".hint", ".lead", ".kind", "#nav a", "button.link", "td", ".dim",
                             ".tile span", "th button", ".cell-title", ".inner", ".frame"):
                ratio = self.browser.run(CONTRAST % json.dumps(selector))
                if ratio is not None:
                    self.assertGreaterEqual(ratio, 4.5, (scheme, selector))

    def test_a_crowd_is_small_and_quick(self):
        (self.folder / "crowd.beamdump").write_text(made_dumps.crowd(CROWD))
        path = self.page("crowd")
        self.assertLess(path.stat().st_size, MOST_BYTES)
        self.open(path)
        milliseconds = self.browser.run("performance.getEntriesByName('shown')[0].startTime")
        print(f"{CROWD:,} processes: {path.stat().st_size:,} bytes, shown after "
              f"{milliseconds:.0f} ms", file=sys.stderr)
        self.assertLess(self.browser.run("document.querySelectorAll('*').length"), MOST_ELEMENTS)
        self.assertEqual(self.filter("queue>0 stack:worker_70:"),
                         sum(1 for row in report_page.Data(path.read_text()).rows
                             if row["queue"] and (row["number"] - 10) % 300 == 70))
        self.browser.click("#processes .unfold")
        self.assertIn("worker_70:loop/2", self.all_texts("#processes tr.details .stack code"))
        self.filter("")
        self.browser.run("document.querySelector('#processes .scroll').scrollTop = 1e9")
        self.browser.until(f"document.querySelector('#processes tr[data-place=\"{CROWD - 1}\"]')"
                           " !== null")
        self.assertLess(self.browser.run("document.querySelectorAll('#processes tr').length"), 200)

    def test_no_half_page(self):
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        before = set(self.folder.iterdir())
        ended = self.run_analyze(1, "report", "later.beamdump", "-o", "half.html",
                                 preexec_fn=small)
        self.assertEqual(ended.stderr.count(b"\n"), 1, ended.stderr)
        self.assertEqual(set(self.folder.iterdir()), before)
        self.run_analyze(1, "report", "later.beamdump", "-o", "later.beamdump")
        self.run_analyze(2, "report", "later.beamdump", "--findings", "deep")
        ended = self.run_analyze(1, "report", "later.beamdump", "--max-memory", "200B")
        self.assertIn(b"--max-memory", ended.stderr)

    def test_the_folder_of_the_dump_is_not_in_the_page(self):
        path = self.folder / "of_path.html"
        self.run_analyze(0, "report", self.folder / "later.beamdump", "-o", path)
        self.assertNotIn(str(self.folder), path.read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
