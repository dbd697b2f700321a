#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/output_file.h"
#include "cli/shared_options.h"
#include "query/things/things.h"
#include "render/export/thing_writers.h"
#include "render/shared/sink_output.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace beamdump::cli {

namespace {

class ExportCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"export", "Write the dump for other programs: as JSON, SQLite, profiles or a graph",
                "export ndjson node.beamdump -o node.ndjson"};
    }

    void add_options(CLI::App& app) override {
        app.add_option("FORMAT", format_, "json or ndjson")->required();
        app.add_option("DUMP", dumps_, "The dump; several of them for ndjson")->required();
        app.add_option("--detail", detail_,
                       "facts (the node and its tables), processes (also a list of them) or stacks "
                       "(also what is read of each process). json: processes; else stacks")
            ->option_text("LEVEL");
        limit_option_ = add_count(app, "--limit", options_.limit,
                                  "Of each kind, the N largest (0: all; json: 20, else 0)");
        app.add_flag("--sensitive", options_.sensitive,
                     "Also read processes that are flagged sensitive");
        add_output(app, output_, "The file to write; - (default): standard output");
    }

    Result<void> check_options() override {
        constexpr std::array<std::string_view, 2> kFormats = {"json", "ndjson"};
        if (std::ranges::find(kFormats, format_) == kFormats.end()) {
            return fail(ErrorCode::kUsage,
                        fmt::format("\"{}\" is not a format: they are json and ndjson", format_));
        }
        const bool document = format_ == "json";
        if (document && dumps_.size() > 1) {
            return fail(ErrorCode::kUsage, "only ndjson holds several dumps");
        }
        if (detail_.empty()) {
            detail_ = document ? "processes" : "stacks";
        }
        ASSIGN_OR_RETURN(options_.detail, query::parse_detail(detail_));
        if (document && limit_option_->count() == 0) {
            constexpr std::uint64_t kForTickets = 20;
            options_.limit = kForTickets;
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        options_.limits = invocation.limits();
        ASSIGN_OR_RETURN(const auto sink, open_sink(output_, invocation.out()));
        auto outcome = write(invocation, *sink);
        if (!outcome) {
            drop_partial();
        }
        return outcome;
    }

  private:
    Result<Outcome> write(Invocation& invocation, ByteSink& sink) {
        Outcome outcome;
        render::SinkOutput out(sink);
        for (const std::string& file : dumps_) {
            ASSIGN_OR_RETURN(const auto dump, open(invocation, file));
            const auto facts = query::dump_facts(*dump, file);
            ASSIGN_OR_RETURN(const auto one, format_ == "json"
                                                 ? write_document(invocation, *dump, file, out)
                                                 : visit(invocation, *dump, file,
                                                         *render::ndjson_writer(out, facts)));
            outcome.incomplete = outcome.incomplete || one.incomplete;
        }
        out.flush();
        if (!out.ok()) {
            return std::unexpected(*out.error());
        }
        RETURN_IF_ERROR(sink.commit());
        return outcome;
    }

    Result<Dump*> open(Invocation& invocation, const std::string& file) {
        auto choice = options_.detail == query::Detail::kStacks ? all_heaps() : no_heaps();
        choice.other_sections = true;
        return invocation.open(file, choice);
    }

    Result<Outcome> write_document(Invocation& invocation, Dump& dump, const std::string& file,
                                   render::Output& out) {
        const auto document = render::json_document(out, query::dump_facts(dump, file));
        auto outcome = visit(invocation, dump, file, *document);
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

    /// Part of an export is of no use.
    void drop_partial() const {
        if (output_.path != "-") {
            std::remove((output_.path + ".partial").c_str());
        }
    }

    std::string format_;
    std::vector<std::string> dumps_;
    std::string detail_;
    CLI::Option* limit_option_ = nullptr;
    OutputChoice output_;
    query::ThingsOptions options_;
};

}  // namespace

std::unique_ptr<Command> export_command() {
    return std::make_unique<ExportCommand>();
}

}  // namespace beamdump::cli
