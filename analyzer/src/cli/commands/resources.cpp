#include "cli/command_table.h"
#include "cli/every_process.h"
#include "cli/holders.h"
#include "cli/list_command.h"
#include "query/activity/emulator.h"
#include "query/holders/resource_holders.h"
#include "render/resource_holders.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>

namespace beamdump::cli {

namespace {

constexpr std::string_view kTypeSort = "living,module,name";
constexpr render::RowListTexts kTypeTexts{"beamdump.resources/1", "resources", "types of resources",
                                          "type of resources"};

class ResourcesCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"resources",
                "List the types of NIF resources, the most living first, or who holds those of one",
                "resources node.beamdump --filter 'living>1000'\n"
                "resources node.beamdump --group-by module\n"
                "resources node.beamdump zlib:zlib"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        app.add_option(
            "TYPE", type_,
            fmt::format("Show who refers to the resources of this type (module:name): processes, "
                        "ETS tables, literals and persistent terms, most references "
                        "first. Columns are then: {}",
                        fmt::join(query::column_names(query::resource_holder_columns()), ", ")));
        list_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        if (!type_.empty()) {
            list_.change_to(
                {query::resource_holder_columns(), query::kResourceHolderSort, "holders"});
        }
        return list_.check();
    }

    Result<Outcome> run(Invocation& invocation) override {
        if (!type_.empty()) {
            return holders(invocation);
        }
        auto choice = no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        ASSIGN_OR_RETURN(auto list, query::list_resources(*dump, list_.query()));
        RETURN_IF_ERROR(list.check_asked(kTypeTexts.things, kTypeSort));
        show_list(invocation, list, query::dump_facts(*dump, dump_), kTypeTexts, {});
        return Outcome{};
    }

  private:
    Result<Outcome> holders(Invocation& invocation) {
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, all_heaps()));
        ReadingProgress progress(invocation, "searching processes");
        auto answer = query::resource_holders(*dump, type_, list_.query(), invocation.limits(),
                                              progress.callback());
        progress.end();
        if (!answer) {
            return std::unexpected(std::move(answer.error()));
        }
        RETURN_IF_ERROR(answer->list.check_asked("holders", query::kResourceHolderSort));
        show_list(invocation, answer->list, query::dump_facts(*dump, dump_),
                  render::kResourceHolderTexts, render::resource_holder_extras(*answer));
        return report_search_gaps(invocation, answer->read, 0, answer->unreadable, answer->node);
    }

    void show_list(Invocation& invocation, query::RowList& list, const query::DumpFacts& facts,
                   const render::RowListTexts& texts, const render::RowListExtras& extras) const {
        auto& out = fitted(invocation.out(), answer_);
        if (!list_.query().group_by.empty()) {
            render::row_groups(out, list, facts, texts, list_.list().sort, answer_.json);
            return;
        }
        const auto render = answer_.json ? render::rows_json : render::rows_text;
        render(out, list, facts, texts, extras);
    }

    std::string dump_;
    std::string type_;
    AnswerOptions answer_;
    ListOptions list_{{query::resource_columns(), kTypeSort, kTypeTexts.things}};
};

}  // namespace

std::unique_ptr<Command> resources_command() {
    return std::make_unique<ResourcesCommand>();
}

}  // namespace beamdump::cli
