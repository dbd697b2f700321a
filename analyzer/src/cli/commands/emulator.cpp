#include "query/activity/emulator.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
#include "render/emulator.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class EmulatorCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"emulator",
                "Show what the emulator itself waits for: permissions, thread progress, system "
                "tasks, suspended processes",
                "emulator node.beamdump\n"
                "emulator node.beamdump --limit 0\n"
                "emulator node.beamdump --json"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        add_count(app, "--limit", limit_, "Show at most N of each list (0: all; default 20)");
        add_answer(app, answer_);
    }

    Result<Outcome> run(Invocation& invocation) override {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, no_heaps()));
        ASSIGN_OR_RETURN(const auto report, query::emulator_report(*dump, dump_, limit_));
        const auto render = answer_.json ? render::emulator_json : render::emulator_text;
        render(fitted(invocation.out(), answer_), report);
        return Outcome{};
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    std::uint64_t limit_ = 20;
};

}  // namespace

std::unique_ptr<Command> emulator_command() {
    return std::make_unique<EmulatorCommand>();
}

}  // namespace beamdump::cli
