#include "cli/command_table.h"
#include "cli/holders.h"

namespace beamdump::cli {

namespace {

class RefsCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"refs", "Find who holds a pid, port, reference or binary, and by which path",
                "refs node.beamdump '<0.123.0>' --limit 50\n"
                "refs node.beamdump 0x7fc6848001c0\n"
                "refs node.beamdump my_server"};
    }

    void add_options(CLI::App& app) override {
        question_.schema = "beamdump.refs/1";
        add_dump(app, question_.dump);
        app.add_option("TARGET", question_.target,
                       "A pid or registered name, a port (#Port<0.5>), a reference "
                       "(#Ref<0.1.2.3>), or the address of a binary (0x7f0012345678)")
            ->required();
        add_count(app, "--limit", question_.limit, "Show at most N places (0: all; default 20)");
        app.add_flag("--sensitive", question_.sensitive,
                     "Also search processes that are flagged sensitive");
        add_most_bytes(app, question_);
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override { return check_most_bytes(question_); }

    Result<Outcome> run(Invocation& invocation) override {
        return answer_holders(invocation, question_, answer_, terms_);
    }

  private:
    HolderQuestion question_;
    AnswerOptions answer_;
    TermOptions terms_;
};

}  // namespace

std::unique_ptr<Command> refs_command() {
    return std::make_unique<RefsCommand>();
}

}  // namespace beamdump::cli
