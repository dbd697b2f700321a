#include "render/ets.h"

#include "cli/command_table.h"
#include "cli/list_command.h"
#include "cli/remarks.h"
#include "cli/term_options.h"
#include "query/tables/ets_row_groups.h"
#include "render/shared/row_list.h"

#include <libdump/base/return_if_error.h>

#include <vector>

namespace beamdump::cli {

namespace {

class EtsCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"ets", "List ETS tables, largest first, or show the rows of one",
                "ets node.beamdump --filter owner_name~rabbit\n"
                "ets node.beamdump my_table --limit 5\n"
                "ets node.beamdump my_table --group-by key,shape"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_option("TABLE", table_,
                       "Show the rows of this table (name or id). Then --sort is size, "
                       "else rows are as stored, and --group-by is key (its text, digits as N), "
                       "shape or size, with sums of words, which --sort words sorts by");
        tables_.add(app);
        app.add_option("--key", rows_.key, "Only rows whose key prints as TEXT")
            ->option_text("TEXT");
        add_term_bytes(app, rows_.term_bytes, answer_, "row");
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        if (table_.empty()) {
            return rows_.key ? fail(ErrorCode::kUsage,
                                    "--key chooses among the rows of a TABLE: name one")
                             : tables_.check();
        }
        const auto& asked = tables_.changed();
        if (!asked.filters.empty()) {
            return fail(ErrorCode::kUsage, "--filter chooses among tables, not among rows");
        }
        if (asked.columns != query::kShownEtsColumns) {
            return fail(ErrorCode::kUsage, "--columns are of tables, not of rows");
        }
        if (!asked.group_by.empty()) {
            return check_groups();
        }
        rows_.limit = asked.limit;
        ASSIGN_OR_RETURN(rows_.sort,
                         query::parse_ets_row_sort(asked.sort.empty() ? "stored" : asked.sort));
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        if (!table_.empty()) {
            RETURN_IF_ERROR(terms_.apply(invocation, *dump));
            return rows(invocation, *dump);
        }
        const auto query = tables_.query();
        ASSIGN_OR_RETURN(auto list, query::list_ets_tables(*dump, query));
        RETURN_IF_ERROR(list.check_asked("ETS tables", query::kEtsSort));
        auto& out = fitted(invocation.out(), answer_);
        const auto facts = query::dump_facts(*dump, dump_);
        if (!query.group_by.empty()) {
            show_groups(out, list, facts, "tables", query::kEtsSort);
            return Outcome{};
        }
        const auto render = answer_.json ? render::ets_json : render::ets_text;
        render(out, list, facts);
        return Outcome{};
    }

  private:
    Result<void> check_groups() {
        if (rows_.key) {
            return fail(ErrorCode::kUsage,
                        "--key chooses rows to show: name no --group-by with it");
        }
        const auto& asked = tables_.changed();
        groups_.group_by = asked.group_by;
        groups_.sort = asked.sort.empty() ? std::string(kGroupSort) : asked.sort;
        groups_.limit = asked.limit;
        auto list = query::RowList::make(query::ets_row_columns(), groups_);
        return list ? Result<void>() : std::unexpected(list.error());
    }

    void show_groups(render::Output& out, query::RowList& list, const query::DumpFacts& facts,
                     std::string_view things, std::string_view default_sort) const {
        render::row_groups(out, list, facts,
                           {.schema = "beamdump.ets/1", .member = "ets", .things = things},
                           default_sort, answer_.json);
    }

    Result<Outcome> rows(Invocation& invocation, Dump& dump) {
        ASSIGN_OR_RETURN(const auto listing, query::EtsRowListing::open(dump, table_, rows_));
        if (!groups_.group_by.empty()) {
            ASSIGN_OR_RETURN(auto list, query::ets_row_groups(*listing, groups_));
            show_groups(fitted(invocation.out(), answer_), list, query::dump_facts(dump, dump_),
                        "rows", kGroupSort);
            if (!listing->counts().is_whole()) {
                invocation.report("rows of the table are missing from the dump");
            }
            return Outcome{!listing->counts().is_whole()};
        }
        const auto render = answer_.json ? render::ets_rows_json : render::ets_rows_text;
        RETURN_IF_ERROR(
            render(fitted(invocation.out(), answer_), *listing, query::dump_facts(dump, dump_)));
        if (!listing->counts().is_whole()) {
            invocation.report("rows of the table are missing from the dump");
        }
        report_placeholders(invocation, listing->placeholders());
        return Outcome{!listing->counts().is_whole() || listing->placeholders() > 0};
    }

    std::string dump_;
    std::string table_;
    static constexpr std::string_view kGroupSort = "key";
    query::EtsRowsOptions rows_;
    query::RowQuery groups_;
    AnswerOptions answer_;
    TermOptions terms_;
    ListOptions tables_{{query::ets_columns(), query::kEtsSort, "tables", query::kShownEtsColumns}};
};

}  // namespace

std::unique_ptr<Command> ets_command() {
    return std::make_unique<EtsCommand>();
}

}  // namespace beamdump::cli
