#include "render/term.h"

#include "cli/command_table.h"
#include "cli/remarks.h"
#include "cli/shared_options.h"
#include "cli/term_options.h"
#include "query/heap/term_reading.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/term/term_layout.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <string>

namespace beamdump::cli {

namespace {

constexpr std::size_t kUsualWidth = 80;

class TermCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"term", "Show one part of a process's terms by its path, level by level or whole",
                "term node.beamdump cart 'state.users[3]' --depth 2\n"
                "term node.beamdump my_server state\n"
                "term node.beamdump cart state.users --beam _build/lib"};
    }

    void add_options(CLI::App& app) override {
        add_dump_and_process(app, dump_, process_);
        app.add_option("PATH", query_.path,
                       "The path of a term: as heap prints them (\"y(3) of frame 0 -> key users\", "
                       "\"y(3)/key users\"), or by names and positions from 1 "
                       "(state.users[3].name); state is a waiting gen_server's. Without PATH: all "
                       "roots");
        add_count(app, "--depth", query_.depth, "Show N levels of parts (default 1)");
        add_count(app, "--limit", query_.limit,
                  "Show the N largest parts of each term (0: all, in their order; default 20)");
        add_count(app, "--term-bytes", term_bytes_,
                  "Instead of the parts, show the first N bytes of the term's text, laid out in "
                  "lines (0: all of it)")
            ->each([this](const std::string&) { text_ = true; });
        add_count(app, "--width", width_,
                  "Columns of those lines (0: all on one; default: of the terminal, else 80)")
            ->each([this](const std::string&) { width_given_ = true; });
        app.add_flag("--sensitive", query_.sensitive,
                     "Show the terms of a process that is flagged sensitive");
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        if (query_.depth == 0) {
            return fail(ErrorCode::kUsage, "--depth 0 would show no parts: the least is 1");
        }
        if (text_ && query_.path.empty()) {
            return fail(ErrorCode::kUsage, "--term-bytes shows one term: name its PATH");
        }
        if (width_ > TermLayout::kMaxWidth) {
            return fail(ErrorCode::kUsage,
                        fmt::format("--width is at most {}", TermLayout::kMaxWidth));
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, lazy_heap_of(process_)));
        RETURN_IF_ERROR(terms_.apply(
            invocation, *dump,
            answer_.json ? TermOptions::Resources::kPlain : TermOptions::Resources::kWithType));
        query_.limits = invocation.limits();
        ASSIGN_OR_RETURN(auto reading, query::TermReading::open(*dump, dump_, process_, query_));
        render::Output& out = text_ ? invocation.out() : fitted(invocation.out(), answer_);
        ASSIGN_OR_RETURN(const bool cut, (answer_.json ? render::term_json : render::term_text)(
                                             out, *reading, format(invocation.out())));
        if (cut) {
            invocation.report(
                fmt::format("the text was truncated to {} bytes (--term-bytes)", term_bytes_));
        }
        return outcome(invocation, *reading);
    }

  private:
    [[nodiscard]] render::TermFormat format(const render::Output& out) const {
        render::TermFormat format;
        if (text_) {
            format.term_bytes = term_bytes_;
        }
        format.width = width_given_
                           ? width_
                           : std::min(out.columns().value_or(kUsualWidth), TermLayout::kMaxWidth);
        return format;
    }

    static Outcome outcome(Invocation& invocation, const query::TermReading& reading) {
        if (reading.withheld() == Withheld::kSensitive) {
            invocation.report(
                fmt::format("{} is flagged sensitive, so its terms are withheld; --sensitive shows "
                            "them",
                            reading.line().pid));
        } else if (reading.withheld() == Withheld::kVoid) {
            invocation.report(fmt::format("{}: its terms are not in the dump",
                                          void_sentence(reading.line(), reading.void_detail())));
        }
        report_placeholders(invocation, reading.placeholders());
        if (reading.unreadable() > 0) {
            invocation.report(fmt::format(
                "the sizes do not include {} with terms that are invalid or not in the dump",
                counted(reading.unreadable(), "place")));
        }
        if (reading.unsized_parts() > 0) {
            invocation.report(
                fmt::format("{} not sized, since much is shared: larger ones may be among them",
                            counted(reading.unsized_parts(), "part was", "parts were")));
        }
        return {reading.withheld() != Withheld::kNo || reading.placeholders() > 0 ||
                reading.unreadable() > 0};
    }

    std::string dump_;
    std::string process_;
    query::TermQuery query_;
    std::uint64_t term_bytes_ = 0;
    bool text_ = false;
    std::uint64_t width_ = 0;
    bool width_given_ = false;
    AnswerOptions answer_;
    TermOptions terms_;
};

}  // namespace

std::unique_ptr<Command> term_command() {
    return std::make_unique<TermCommand>();
}

}  // namespace beamdump::cli
