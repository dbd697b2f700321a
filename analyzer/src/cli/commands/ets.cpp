#include "render/ets.h"

#include "cli/command_table.h"
#include "cli/remarks.h"
#include "cli/shared_options.h"
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
                "ets node.beamdump --sort size --filter owner=rabbit"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_option("TABLE", table_, "Show the rows of this table: its name, or its id");
        app.add_option("--sort", sort_,
                       "Tables by memory (default), size or name; rows by size, else as stored")
            ->option_text("ORDER");
        add_filter(
            app, filters_,
            "Only tables with TEXT in a field; FIELD=TEXT matches one field: id, name, owner, "
            "type or protection");
        app.add_option("--key", rows_.key, "Only rows whose key prints as TEXT")
            ->option_text("TEXT");
        add_group_by(app, groups_.group_by,
                     "Count the rows of TABLE by key (its text, digits as N), shape or size, with "
                     "sums of words; --sort words sorts by these");
        add_count(app, "--limit", query_.limit, "Show at most N (0: all; default 20)");
        add_term_bytes(app, rows_.term_bytes, answer_, "row");
        terms_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        if (!table_.empty()) {
            if (!filters_.empty()) {
                return fail(ErrorCode::kUsage, "--filter chooses among tables, not among rows");
            }
            if (!groups_.group_by.empty()) {
                return check_groups();
            }
            rows_.limit = query_.limit;
            ASSIGN_OR_RETURN(rows_.sort,
                             query::parse_ets_row_sort(sort_.empty() ? "stored" : sort_));
            return {};
        }
        if (!groups_.group_by.empty()) {
            return fail(ErrorCode::kUsage, "--group-by groups the rows of a TABLE: name one");
        }
        if (rows_.key) {
            return fail(ErrorCode::kUsage, "--key chooses among the rows of a TABLE: name one");
        }
        ASSIGN_OR_RETURN(query_.sort, query::parse_ets_sort(sort_.empty() ? "memory" : sort_));
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
        if (!table_.empty()) {
            RETURN_IF_ERROR(terms_.apply(invocation, *dump));
            return rows(invocation, *dump);
        }
        ASSIGN_OR_RETURN(const auto listing, query::list_ets_tables(*dump, query_));
        const auto render = answer_.json ? render::ets_json : render::ets_text;
        render(fitted(invocation.out(), answer_), listing, query::dump_facts(*dump, dump_));
        return Outcome{};
    }

  private:
    Result<void> check_groups() {
        if (rows_.key) {
            return fail(ErrorCode::kUsage,
                        "--key chooses rows to show: name no --group-by with it");
        }
        groups_.sort = sort_.empty() ? kGroupSort : sort_;
        groups_.limit = query_.limit;
        auto list = query::RowList::make(query::ets_row_columns(), groups_);
        return list ? Result<void>() : std::unexpected(list.error());
    }

    Result<void> show_groups(Invocation& invocation, Dump& dump, query::EtsRowListing& listing) {
        constexpr render::RowListTexts kTexts = {"beamdump.ets/1", "ets", "rows"};
        ASSIGN_OR_RETURN(auto list, query::ets_row_groups(listing, groups_));
        const auto render = answer_.json ? render::row_groups_json : render::row_groups_text;
        render(fitted(invocation.out(), answer_), list, query::dump_facts(dump, dump_), kTexts,
               kGroupSort);
        return {};
    }

    Result<Outcome> rows(Invocation& invocation, Dump& dump) {
        ASSIGN_OR_RETURN(const auto listing, query::EtsRowListing::open(dump, table_, rows_));
        if (!groups_.group_by.empty()) {
            RETURN_IF_ERROR(show_groups(invocation, dump, *listing));
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
    static constexpr const char* kGroupSort = "key";
    query::EtsRowsOptions rows_;
    query::RowQuery groups_;
    AnswerOptions answer_;
    TermOptions terms_;
    std::string sort_;
    std::vector<std::string> filters_;
    query::EtsQuery query_;
};

}  // namespace

std::unique_ptr<Command> ets_command() {
    return std::make_unique<EtsCommand>();
}

}  // namespace beamdump::cli
