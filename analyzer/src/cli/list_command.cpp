#include "cli/list_command.h"

#include "cli/shared_options.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>

namespace beamdump::cli {

namespace {

class ListCommand final : public Command {
  public:
    explicit ListCommand(const ListSpec& spec) : spec_(spec) {
        query_.sort = spec.sort;
        query_.counted_by = spec.counted_by;
    }

    [[nodiscard]] Description description() const override { return spec_.description; }

    void add_options(CLI::App& app) override {
        std::string fields;
        for (const auto& column : spec_.columns) {
            fields += fmt::format("{}{}", fields.empty() ? "" : ", ", column.name);
        }
        add_dump(app, dump_);
        app.add_option(
               "--sort", query_.sort,
               fmt::format("A field: {} (default), or another of those of --filter", spec_.sort))
            ->option_text("FIELD");
        add_filter(app, query_.filters,
                   fmt::format("Only {} with TEXT in a field; FIELD=TEXT matches one field: {}",
                               spec_.texts.things, fields));
        add_group_by(app, query_.group_by,
                     "Count by the values of these fields, with sums of amounts, the largest group "
                     "first; --sort by an amount sorts by its sums");
        add_count(app, "--limit", query_.limit, "Show at most N (0: all; default 20)");
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        auto list = query::RowList::make(spec_.columns, query_);
        return list ? Result<void>() : std::unexpected(list.error());
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        ASSIGN_OR_RETURN(auto list, spec_.list(*dump, dump_, query_));
        RETURN_IF_ERROR(list.check_asked(spec_.texts.things, spec_.sort));
        auto& out = fitted(invocation.out(), answer_);
        const auto facts = query::dump_facts(*dump, dump_);
        if (!query_.group_by.empty()) {
            const auto render = answer_.json ? render::row_groups_json : render::row_groups_text;
            render(out, list, facts, spec_.texts, spec_.sort);
            return Outcome{};
        }
        const auto render = answer_.json ? render::rows_json : render::rows_text;
        render(out, list, facts, spec_.texts);
        return Outcome{};
    }

  private:
    ListSpec spec_;
    std::string dump_;
    AnswerOptions answer_;
    query::RowQuery query_;
};

}  // namespace

std::unique_ptr<Command> make_list_command(const ListSpec& spec) {
    return std::make_unique<ListCommand>(spec);
}

}  // namespace beamdump::cli
