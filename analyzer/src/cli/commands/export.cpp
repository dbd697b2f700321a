#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/output_file.h"
#include "cli/shared_options.h"
#include "query/things/stack_profile.h"
#include "query/things/things.h"
#include "render/export/sqlite_file.h"
#include "render/export/thing_writers.h"
#include "render/shared/output.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/profile/profile_files.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace beamdump::cli {

namespace {

class ExportCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"export", "Write the dump for other programs: as JSON, SQLite, profiles or a graph",
                "export ndjson node.beamdump -o node.ndjson\n"
                "export sqlite mon.beamdump tue.beamdump -o all.sqlite\n"
                "export folded node.beamdump --weight memory -o folded"};
    }

    void add_options(CLI::App& app) override {
        app.add_option("FORMAT", format_,
                       "json, ndjson or sqlite: facts; folded, speedscope or pprof: stacks of all "
                       "processes; dot: a graph of processes, for Graphviz")
            ->required();
        app.add_option("DUMP", dumps_, "The dump; for ndjson and sqlite also several")->required();
        app.add_option("--detail", detail_,
                       "Of json, ndjson and sqlite: facts (the node and its tables), processes "
                       "(also a list of them) or stacks (also what is read of each). json: "
                       "processes; else stacks")
            ->option_text("LEVEL");
        limit_option_ =
            add_count(app, "--limit", options_.limit,
                      "Of json, ndjson and sqlite: of each kind the N largest (0: all; json: 20, "
                      "else 0)");
        app.add_option("--weight", weight_,
                       "Of folded, speedscope and pprof: what a process counts, count (default: "
                       "1), memory (its bytes) or queue (its messages)")
            ->option_text("WHAT");
        app.add_flag("--sensitive", options_.sensitive,
                     "Also read processes that are flagged sensitive");
        add_output(app, output_,
                   "The file to write; - (default): standard output. sqlite needs one, and adds "
                   "to it; there, --force replaces the same dump");
    }

    Result<void> check_options() override {
        const auto* known = std::ranges::find(kFormats, format_, &NamedFormat::name);
        if (known == kFormats.end()) {
            return fail(ErrorCode::kUsage,
                        fmt::format("\"{}\" is not a format: they are json, ndjson, sqlite, "
                                    "folded, speedscope, pprof and dot",
                                    format_));
        }
        kind_ = known->kind;
        const bool lists = kind_ == Kind::kNdjson || kind_ == Kind::kSqlite;
        if (!lists && dumps_.size() > 1) {
            return fail(ErrorCode::kUsage,
                        fmt::format("{} holds one dump; ndjson and sqlite hold several", format_));
        }
        if (kind_ == Kind::kSqlite && output_.path == "-") {
            return fail(ErrorCode::kUsage, "sqlite writes a file: name it with -o");
        }
        const bool document = kind_ == Kind::kJson;
        if (detail_.empty()) {
            detail_ = document ? "processes" : "stacks";
        }
        ASSIGN_OR_RETURN(options_.detail, query::parse_detail(detail_));
        ASSIGN_OR_RETURN(profile_.weight, query::parse_stack_weight(weight_));
        if (document && limit_option_->count() == 0) {
            constexpr std::uint64_t kForTickets = 20;
            options_.limit = kForTickets;
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        options_.limits = invocation.limits();
        if (kind_ == Kind::kSqlite) {
            return write_sqlite(invocation);
        }
        if (kind_ == Kind::kPprof && output_.path == "-" && invocation.out().is_terminal()) {
            return fail(ErrorCode::kUsage, "pprof is not text: name a file with -o");
        }
        ASSIGN_OR_RETURN(const auto sink,
                         open_sink(output_, invocation.out(), PartialFile::kRemoved));
        return write(invocation, *sink);
    }

  private:
    enum class Kind : std::uint8_t {
        kJson,
        kNdjson,
        kSqlite,
        kFolded,
        kSpeedscope,
        kPprof,
        kDot,
    };
    struct NamedFormat {
        std::string_view name;
        Kind kind;
    };
    static constexpr std::array<NamedFormat, 7> kFormats = {{{"json", Kind::kJson},
                                                             {"ndjson", Kind::kNdjson},
                                                             {"sqlite", Kind::kSqlite},
                                                             {"folded", Kind::kFolded},
                                                             {"speedscope", Kind::kSpeedscope},
                                                             {"pprof", Kind::kPprof},
                                                             {"dot", Kind::kDot}}};

    Result<Outcome> write(Invocation& invocation, ByteSink& sink) {
        Outcome outcome;
        render::SinkOutput out(sink);
        for (const std::string& file : dumps_) {
            ASSIGN_OR_RETURN(const auto dump, open(invocation, file));
            ASSIGN_OR_RETURN(const auto one, write_one(invocation, *dump, file, out));
            outcome.incomplete = outcome.incomplete || one.incomplete;
        }
        out.flush();
        if (!out.ok()) {
            return std::unexpected(*out.error());
        }
        RETURN_IF_ERROR(sink.commit());
        return outcome;
    }

    Result<Outcome> write_one(Invocation& invocation, Dump& dump, const std::string& file,
                              render::Output& out) {
        switch (kind_) {
            case Kind::kJson:
                return write_document(invocation, dump, file, out);
            case Kind::kNdjson:
                return visit(invocation, dump, file,
                             *render::ndjson_writer(out, query::dump_facts(dump, file)));
            case Kind::kDot:
                return write_graph(invocation, dump, file, out);
            default:
                return write_profile(invocation, dump, file, out);
        }
    }

    Result<Outcome> write_sqlite(Invocation& invocation) {
        ASSIGN_OR_RETURN(const auto database,
                         render::SqliteFile::open(output_.path, output_.force));
        Outcome outcome;
        for (const std::string& file : dumps_) {
            ASSIGN_OR_RETURN(const auto dump, open(invocation, file));
            const auto rows = database->add(query::dump_facts(*dump, file));
            ASSIGN_OR_RETURN(const auto one, visit(invocation, *dump, file, *rows));
            outcome.incomplete = outcome.incomplete || one.incomplete;
        }
        RETURN_IF_ERROR(database->commit());
        return outcome;
    }

    Result<Outcome> write_graph(Invocation& invocation, Dump& dump, const std::string& file,
                                render::Output& out) {
        const auto graph = render::dot_graph(out, query::dump_facts(dump, file));
        ReadingProgress progress(invocation, "reading processes");
        options_.progress = progress.callback();
        const auto read = query::visit_graph(dump, file, options_, *graph);
        progress.end();
        if (!read) {
            return std::unexpected(read.error());
        }
        graph->finish();
        return report_processes_read(invocation, *read);
    }

    [[nodiscard]] ProfileTerms profile_terms(const query::DumpFacts& facts) const {
        const std::string node = facts.node_name.value_or("a node of unknown name");
        ProfileTerms terms{.title = fmt::format("{}: processes by stack", node),
                           .exporter = "beamdump-analyze " BEAMDUMP_VERSION,
                           .type = "processes",
                           .time_us = facts.captured_us};
        if (profile_.weight == query::StackWeight::kMemory) {
            terms.title = fmt::format("{}: memory of processes by stack", node);
            terms.type = "memory";
            terms.unit = "bytes";
        } else if (profile_.weight == query::StackWeight::kQueue) {
            terms.title = fmt::format("{}: queued messages by stack", node);
            terms.type = "messages";
        }
        return terms;
    }

    Result<Outcome> write_profile(Invocation& invocation, Dump& dump, const std::string& file,
                                  render::Output& out) {
        ReadingProgress progress(invocation, "reading stacks");
        profile_.lines = kind_ != Kind::kFolded;
        profile_.sensitive = options_.sensitive;
        profile_.limits = options_.limits;
        profile_.progress = progress.callback();
        const auto profile = query::StackProfile::make(dump, profile_);
        progress.end();
        if (!profile) {
            return std::unexpected(profile.error());
        }
        const auto terms = profile_terms(query::dump_facts(dump, file));
        ASSIGN_OR_RETURN(const auto format, parse_stack_format(format_));
        RETURN_IF_ERROR(stacks_as(format, out, profile->stacks(), terms));
        if (profile->unweighted() > 0) {
            invocation.report(
                fmt::format("left out: {} of which the dump does not say the {}",
                            counted(profile->unweighted(), "process", "processes"),
                            profile_.weight == query::StackWeight::kMemory ? "memory" : "queue"));
        }
        auto outcome = report_processes_read(invocation, profile->read());
        outcome.incomplete = outcome.incomplete || profile->unweighted() > 0;
        return outcome;
    }

    Result<Dump*> open(Invocation& invocation, const std::string& file) {
        auto choice = options_.detail == query::Detail::kStacks ? all_heaps() : no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto* const dump, invocation.open(file, choice));
        options_.terms = invocation.opened().back().has_terms();
        return dump;
    }

    Result<Outcome> write_document(Invocation& invocation, Dump& dump, const std::string& file,
                                   render::Output& out) {
        const auto document = render::json_document(out, query::dump_facts(dump, file));
        ASSIGN_OR_RETURN(const auto outcome, visit(invocation, dump, file, *document));
        document->finish();
        return outcome;
    }

    Result<Outcome> visit(Invocation& invocation, Dump& dump, const std::string& file,
                          query::ThingVisitor& visitor) {
        ReadingProgress progress(invocation, "reading processes");
        options_.progress = progress.callback();
        const auto read = query::visit_things(dump, file, options_, visitor);
        progress.end();
        if (!read) {
            return std::unexpected(read.error());
        }
        return *read ? report_processes_read(invocation, **read) : Outcome{};
    }

    std::string format_;
    std::vector<std::string> dumps_;
    std::string detail_;
    std::string weight_ = "count";
    Kind kind_ = Kind::kJson;
    CLI::Option* limit_option_ = nullptr;
    OutputChoice output_;
    query::ThingsOptions options_;
    query::StackProfileOptions profile_;
};

}  // namespace

std::unique_ptr<Command> export_command() {
    return std::make_unique<ExportCommand>();
}

}  // namespace beamdump::cli
