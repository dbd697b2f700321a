#include "query/memory/allocators.h"

#include "cli/command_table.h"
#include "cli/list_command.h"
#include "render/memory.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::cli {

namespace {

class AllocatorsCommand final : public Command {
  public:
    AllocatorsCommand()
        : options_({query::allocator_columns(), query::kAllocatorSort, "allocators"}) {
        options_.changed().limit = 0;
    }

    [[nodiscard]] Description description() const override {
        return {"allocators",
                "Show the runtime's allocators: carriers, blocks, how much of the carriers is used",
                "allocators node.beamdump --sort free\n"
                "allocators node.beamdump --instances\n"
                "allocators node.beamdump --carriers --limit 50"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_flag("--instances", query_.instances,
                     "Show each instance of an allocator, not their sums");
        app.add_flag(
            "--carriers", query_.carriers,
            fmt::format("Show each carrier: how much of it is used, and its free blocks. Columns "
                        "are then: {}",
                        fmt::join(query::column_names(query::carrier_columns()), ", ")));
        options_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        query_.rows = options_.query();
        if (query_.carriers && options_.changed().sort.empty()) {
            query_.rows.sort = query::kCarrierSort;
        }
        if (query_.rows.columns.empty()) {
            query_.rows.columns =
                query_.carriers ? query::kShownCarrierColumns : query::kShownAllocatorColumns;
        }
        const auto columns =
            query_.carriers ? query::carrier_columns() : query::allocator_columns();
        auto list = query::RowList::make(columns, query_.rows);
        return list ? Result<void>() : std::unexpected(list.error());
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        ASSIGN_OR_RETURN(auto found, query::allocators(*dump, query_));
        const auto facts = query::dump_facts(*dump, dump_);
        auto& out = fitted(invocation.out(), answer_);
        auto& list = found.carriers ? *found.carriers : found.lines;
        if (!query_.rows.group_by.empty()) {
            render::row_groups(out, list, facts,
                               {.schema = "beamdump.groups/1",
                                .member = found.carriers ? "carriers" : "allocators",
                                .things = found.carriers ? "carriers" : "allocators"},
                               found.carriers ? query::kCarrierSort : query::kAllocatorSort,
                               answer_.json);
            return Outcome{};
        }
        const auto render = answer_.json ? render::allocators_json : render::allocators_text;
        render(out, found, facts);
        return Outcome{};
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    ListOptions options_;
    query::AllocatorsQuery query_;
};

}  // namespace

std::unique_ptr<Command> allocators_command() {
    return std::make_unique<AllocatorsCommand>();
}

}  // namespace beamdump::cli
