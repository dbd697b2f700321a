#include "render/report/report.h"

#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/output_file.h"
#include "cli/shared_options.h"
#include "query/activity/history.h"
#include "query/activity/sockets.h"
#include "query/activity/timers.h"
#include "query/diff/diff.h"
#include "query/findings/summary.h"
#include "query/holders/binaries.h"
#include "query/memory/memory.h"
#include "query/tables/atoms.h"
#include "query/tables/ets_tables.h"
#include "query/waits/waits.h"
#include "render/binaries.h"
#include "render/diff.h"
#include "render/ets.h"
#include "render/groups.h"
#include "render/history.h"
#include "render/memory.h"
#include "render/shared/output.h"
#include "render/shared/row_list.h"
#include "render/summary.h"
#include "render/tables/atoms.h"

#include <libdump/base/return_if_error.h>

#include <filesystem>

namespace beamdump::cli {

namespace {

/// ETS tables of a page, those with most memory.
constexpr std::uint64_t kMostTables = 5000;
/// Sockets and timers, and groups of atoms.
constexpr std::uint64_t kMostRows = 1000;
/// Processes of each kind of change.
constexpr std::uint64_t kMostChanges = 50;

/// Without the folder, which is nobody's business that the page is sent to.
std::string file_name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

class ReportCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"report", "Write a page of HTML to look at: memory, processes, stacks, mailboxes",
                "report node.beamdump -o node.html\n"
                "report before.beamdump after.beamdump -o changes.html\n"
                "report erl_crash.dump --findings full -o crash.html"};
    }

    void add_options(CLI::App& app) override {
        app.add_option("DUMP", dump_, "The dump")->required();
        app.add_option("LATER", later_,
                       "A later dump of the node: the page is about it, and says what changed "
                       "since DUMP");
        add_findings_depth(app, depth_);
        app.add_flag("--sensitive", options_.sensitive,
                     "Also read processes that are flagged sensitive");
        add_output(app, output_, "The page to write; - (default): standard output");
    }

    Result<void> check_options() override {
        ASSIGN_OR_RETURN(findings_.depth, query::parse_findings_depth(depth_));
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        if (output_.path == "-" && invocation.out().is_terminal()) {
            return fail(ErrorCode::kUsage, "a page is not for a terminal: name a file with -o");
        }
        ASSIGN_OR_RETURN(const auto sink,
                         open_sink(output_, invocation.out(), PartialFile::kRemoved));
        return write(invocation, *sink);
    }

  private:
    Result<Outcome> write(Invocation& invocation, ByteSink& sink) {
        const std::string& shown = later_.empty() ? dump_ : later_;
        auto choice = all_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(const auto dump, invocation.open(shown, choice));
        ReadingProgress progress(invocation, "reading processes");
        options_.limits = invocation.limits();
        options_.progress = progress.callback();
        render::SinkOutput out(sink);
        render::ReportWriter page(out, options_.limits.memory);
        ASSIGN_OR_RETURN(auto outcome, write_answers(invocation, *dump, shown, page));
        page.end_answers();
        const auto processes = query::visit_report_processes(
            *dump, options_, [&page](const auto& process) { return page.process(process); });
        progress.end();
        if (!processes) {
            return std::unexpected(processes.error());
        }
        page.finish(*processes);
        out.flush();
        if (!out.ok()) {
            return std::unexpected(*out.error());
        }
        RETURN_IF_ERROR(sink.commit());
        const auto read = report_processes_read(invocation, processes->stacks.read());
        outcome.incomplete = outcome.incomplete || read.incomplete;
        return outcome;
    }

    Result<Outcome> write_answers(Invocation& invocation, Dump& dump, const std::string& path,
                                  render::ReportWriter& page) {
        findings_.sensitive = options_.sensitive;
        findings_.limits = options_.limits;
        findings_.progress = options_.progress;
        ASSIGN_OR_RETURN(auto summary, query::summarize(dump, path, findings_));
        const std::string name = file_name(path);
        summary.dump.file = name;
        for (auto& finding : summary.findings.found) {
            if (const auto at = finding.command.find(path); at != std::string::npos) {
                finding.command.replace(at, path.size(), name);
            }
        }
        page.answer("summary", [&](render::Output& out) { render::summary_json(out, summary); });
        ASSIGN_OR_RETURN(auto memory, query::memory(dump, path, {}));
        memory.dump.file = name;
        page.answer("memory", [&](render::Output& out) { render::memory_json(out, memory); });
        auto tables = query::list_ets_tables(
            dump, {.sort = std::string(query::kEtsSort), .filters = {}, .limit = kMostTables});
        if (tables) {
            page.answer("ets",
                        [&](render::Output& out) { render::ets_json(out, *tables, summary.dump); });
        } else if (tables.error().code != ErrorCode::kNotFound) {
            return std::unexpected(tables.error());
        }
        RETURN_IF_ERROR(
            write_list(dump, summary.dump, page,
                       {.schema = "beamdump.sockets/1", .member = "sockets", .things = "sockets"},
                       query::list_sockets, "receive_queue"));
        RETURN_IF_ERROR(
            write_list(dump, summary.dump, page,
                       {.schema = "beamdump.timers/1", .member = "timers", .things = "timers"},
                       query::list_timers, "left_ms"));
        query::RowQuery atoms;
        atoms.limit = kMostRows;
        ASSIGN_OR_RETURN(auto groups,
                         query::list_atoms(dump, path, query::AtomRows::kGroups, atoms));
        page.answer("atoms", [&](render::Output& out) {
            render::atoms_json(out, groups, summary.dump, query::AtomRows::kGroups);
        });
        if (!dump.trailer().history_offset().empty()) {
            ASSIGN_OR_RETURN(auto history, query::read_history(dump, path));
            history.dump.file = name;
            page.answer("history",
                        [&](render::Output& out) { render::history_json(out, history); });
        }
        RETURN_IF_ERROR(write_waits(dump, path, page));
        RETURN_IF_ERROR(write_binaries(dump, path, page));
        if (!later_.empty()) {
            RETURN_IF_ERROR(write_diff(invocation, dump, page));
        }
        // The processes that are not read are told once, for all of the page.
        summary.findings.read.reset();
        return report_findings_left_out(invocation, summary.findings);
    }

    Result<void> write_waits(Dump& dump, const std::string& path, render::ReportWriter& page) {
        query::WaitsOptions options;
        options.limit = kMostRows;
        options.sensitive = options_.sensitive;
        options.limits = options_.limits;
        options.progress = options_.progress;
        ASSIGN_OR_RETURN(auto waits, query::find_waits(dump, path, options));
        waits.dump.file = file_name(path);
        page.answer("waits", [&](render::Output& out) { render::waits_json(out, waits); });
        return {};
    }

    /// The largest ones, and what keeps more of them than its terms show.
    Result<void> write_binaries(Dump& dump, const std::string& path, render::ReportWriter& page) {
        const query::RowQuery query{
            .sort = std::string(query::kNodeBinarySort), .filters = {}, .limit = kMostRows};
        ASSIGN_OR_RETURN(auto binaries,
                         query::node_binaries(dump, query, options_.limits, options_.progress));
        auto facts = query::dump_facts(dump, path);
        facts.file = file_name(path);
        page.answer("binaries", [&](render::Output& out) {
            render::binaries_json(out, binaries, facts, false);
        });
        query::BinariesOptions options;
        options.limit = kMostRows;
        options.limits = options_.limits;
        options.progress = options_.progress;
        ASSIGN_OR_RETURN(auto leaks, query::binary_leaks(dump, path, options));
        leaks.dump.file = file_name(path);
        page.answer("leaks", [&](render::Output& out) { render::binary_leaks_json(out, leaks); });
        return {};
    }

    using List = Result<query::RowList> (*)(Dump& dump, const query::RowQuery& query);
    /// A list under the name of its member; none where the dump lacks it.
    static Result<void> write_list(Dump& dump, const query::DumpFacts& facts,
                                   render::ReportWriter& page, const render::RowListTexts& texts,
                                   List list, std::string_view sort) {
        auto rows = list(dump, {.sort = std::string(sort), .filters = {}, .limit = kMostRows});
        if (!rows) {
            return rows.error().code == ErrorCode::kNotFound
                       ? Result<void>()
                       : Result<void>(std::unexpected(rows.error()));
        }
        page.answer(texts.member,
                    [&](render::Output& out) { render::rows_json(out, *rows, facts, texts); });
        return {};
    }

    Result<void> write_diff(Invocation& invocation, Dump& dump, render::ReportWriter& page) {
        ASSIGN_OR_RETURN(const auto before, invocation.open(dump_, no_heaps()));
        query::DiffOptions options;
        options.limit = kMostChanges;
        options.limits = invocation.limits();
        ASSIGN_OR_RETURN(auto diff, query::diff_dumps({{before, dump_}, {&dump, later_}}, options));
        diff.dumps.front().file = file_name(dump_);
        diff.dumps.back().file = file_name(later_);
        page.answer("diff", [&](render::Output& out) { render::diff_json(out, diff); });
        return {};
    }

    std::string dump_;
    std::string later_;
    std::string depth_ = "quick";
    OutputChoice output_;
    query::ReportOptions options_;
    query::FindingsOptions findings_;
};

}  // namespace

std::unique_ptr<Command> report_command() {
    return std::make_unique<ReportCommand>();
}

}  // namespace beamdump::cli
