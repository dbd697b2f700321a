#include "cli/list_command.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace beamdump::cli {

namespace {

class ListCommand final : public Command {
  public:
    explicit ListCommand(const ListSpec& spec)
        : spec_(spec), options_({spec.columns, spec.sort, spec.texts.things}) {
        options_.changed().counted_by = spec.counted_by;
    }

    [[nodiscard]] Description description() const override { return spec_.description; }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        options_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override { return options_.check(); }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        const auto query = options_.query();
        ASSIGN_OR_RETURN(auto list, spec_.list(*dump, query));
        RETURN_IF_ERROR(list.check_asked(spec_.texts.things, spec_.sort));
        auto& out = fitted(invocation.out(), answer_);
        const auto facts = query::dump_facts(*dump, dump_);
        if (!query.group_by.empty()) {
            render::row_groups(out, list, facts, spec_.texts, spec_.sort, answer_.json);
            return Outcome{};
        }
        const auto render = answer_.json ? render::rows_json : render::rows_text;
        render(out, list, facts, spec_.texts, {});
        return Outcome{};
    }

  private:
    ListSpec spec_;
    std::string dump_;
    AnswerOptions answer_;
    ListOptions options_;
};

}  // namespace

void ListOptions::add(CLI::App& app) {
    add_sort(app, query_.sort,
             fmt::format("Columns to sort by (default {}): amounts largest first, texts from a to "
                         "z; -COLUMN is the other way round",
                         list_.sort));
    add_filter(app, query_.filters,
               fmt::format("Only {} with TEXT in a column, or 'COLUMN OP VALUE': =, !=, <, >, <=, "
                           ">= or ~ (has it; * stands for any text). Columns: {}",
                           list_.things, fmt::join(query::column_names(list_.columns), ", ")));
    app.add_option("--columns", query_.columns, "Show these columns in the text")
        ->option_text("COLUMN[,COLUMN]");
    add_group_by(app, query_.group_by,
                 "Count by the values of these columns, with sums of amounts, the largest group "
                 "first; --sort by an amount sorts by its sums");
    add_count(app, "--limit", query_.limit,
              fmt::format("Show at most N (0: all; default {})",
                          query_.limit == 0 ? std::string("all") : std::to_string(query_.limit)));
}

void ListOptions::change_to(const ListColumns& list) {
    if (query_.columns == list_.shown) {
        query_.columns = list.shown;
    }
    list_ = list;
}

Result<void> ListOptions::check() const {
    auto list = query::RowList::make(list_.columns, query());
    return list ? Result<void>() : std::unexpected(list.error());
}

query::RowQuery ListOptions::query() const {
    query::RowQuery query = query_;
    if (query.sort.empty()) {
        query.sort = list_.sort;
    }
    return query;
}

std::unique_ptr<Command> make_list_command(const ListSpec& spec) {
    return std::make_unique<ListCommand>(spec);
}

}  // namespace beamdump::cli
