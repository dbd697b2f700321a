#include "query/memory/allocators.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
#include "render/node/memory.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class AllocatorsCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"allocators",
                "Show the runtime's allocators: carriers, blocks, how much of the carriers is used",
                "allocators node.beamdump --sort free"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_flag("--instances", query_.instances,
                     "Show each instance of an allocator, not their sums");
        app.add_flag("--carriers", query_.carriers,
                     "Show each carrier: how much of it is used, and its free blocks");
        app.add_option("--filter", query_.name, "Only allocators whose name contains TEXT")
            ->option_text("TEXT");
        app.add_option("--sort", sort_,
                       "bytes (of carriers; default), blocks, free or name (of carriers: address)")
            ->option_text("ORDER");
        add_count(app, "--limit", query_.limit, "Show at most N (0: all; default)");
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        ASSIGN_OR_RETURN(query_.sort, query::parse_allocator_sort(sort_));
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        ASSIGN_OR_RETURN(const auto found, query::allocators(*dump, dump_, query_));
        const auto render = answer_.json ? render::allocators_json : render::allocators_text;
        render(fitted(invocation.out(), answer_), found);
        return Outcome{};
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    std::string sort_ = "bytes";
    query::AllocatorsQuery query_;
};

}  // namespace

std::unique_ptr<Command> allocators_command() {
    return std::make_unique<AllocatorsCommand>();
}

}  // namespace beamdump::cli
