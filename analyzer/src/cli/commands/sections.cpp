#include "query/facts/sections.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
#include "render/sections.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class SectionsCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"sections",
                "Show the sections of a crash dump other than processes: ETS tables, ports, "
                "timers, allocators, schedulers...",
                "sections erl_crash.dump ets --limit 5\n"
                "sections erl_crash.dump\n"
                "sections erl_crash.dump memory"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_option("TAG", options_.tag,
                       "Show sections of this kind: ets, port, timer, allocator... Without TAG: "
                       "count the sections of each kind");
        add_count(app, "--limit", options_.limit,
                  "Show at most N sections, or N lines of a kind with one section (0: all; "
                  "default 20)");
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        ASSIGN_OR_RETURN(auto listing, query::SectionListing::open(*dump, dump_, options_));
        const auto render = answer_.json ? render::sections_json : render::sections_text;
        auto done = render(fitted(invocation.out(), answer_), *listing);
        return done ? Result<Outcome>(Outcome{}) : std::unexpected(done.error());
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    query::SectionsOptions options_;
};

}  // namespace

std::unique_ptr<Command> sections_command() {
    return std::make_unique<SectionsCommand>();
}

}  // namespace beamdump::cli
