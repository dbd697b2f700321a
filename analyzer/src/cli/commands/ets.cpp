#include "render/ets.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"

#include <libdump/base/return_if_error.h>

#include <vector>

namespace beamdump::cli {

namespace {

class EtsCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"ets", "List ETS tables, largest first",
                "ets node.beamdump --sort size --filter owner=rabbit"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_option("--sort", sort_, "memory (default), size or name")->option_text("ORDER");
        app.add_option(
               "--filter", filters_,
               "Only tables with TEXT in a field; FIELD=TEXT matches one field: id, name, owner, "
               "type or protection. Repeatable; all filters must match")
            ->type_size(1)
            ->allow_extra_args(false)
            ->option_text("TEXT");
        add_count(app, "--limit", query_.limit, "Show at most N (0: all; default 20)");
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        ASSIGN_OR_RETURN(query_.sort, query::parse_ets_sort(sort_));
        for (const std::string& text : filters_) {
            ASSIGN_OR_RETURN(auto filter, query::parse_ets_filter(text));
            query_.filters.push_back(std::move(filter));
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        ASSIGN_OR_RETURN(const auto listing, query::list_ets_tables(*dump, query_));
        const auto render = answer_.json ? render::ets_json : render::ets_text;
        render(fitted(invocation.out(), answer_), listing, query::dump_facts(*dump, dump_));
        return Outcome{};
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    std::string sort_ = "memory";
    std::vector<std::string> filters_;
    query::EtsQuery query_;
};

}  // namespace

std::unique_ptr<Command> ets_command() {
    return std::make_unique<EtsCommand>();
}

}  // namespace beamdump::cli
