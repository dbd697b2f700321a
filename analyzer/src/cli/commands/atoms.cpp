#include "query/tables/atoms.h"

#include "cli/command_table.h"
#include "cli/list_command.h"
#include "render/tables/atoms.h"

#include <libdump/base/return_if_error.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace beamdump::cli {

namespace {

ListColumns columns_of(query::AtomRows rows) {
    return {.columns = query::atom_columns(rows),
            .sort = query::atom_sort(rows),
            .things = rows == query::AtomRows::kEach ? "atoms" : "groups",
            .shown = rows == query::AtomRows::kEach ? "index,bytes,text"
                                                    : "count,share,bytes,atoms,newest"};
}

class AtomsCommand final : public Command {
  public:
    AtomsCommand() : list_(columns_of(query::AtomRows::kGroups)) {}

    [[nodiscard]] Description description() const override {
        return {"atoms", "Count atoms: how many of the limit, and groups that are alike",
                "atoms node.beamdump --sort newest\n"
                "atoms node.beamdump --group\n"
                "atoms node.beamdump --list --filter text~user_"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        auto* each = app.add_flag(
            "--list", each_,
            fmt::format(
                "List each atom, newest first (columns: {})",
                fmt::join(query::column_names(query::atom_columns(query::AtomRows::kEach)), ", ")));
        app.add_flag("--group", group_, "Group atoms that are alike (default)")->excludes(each);
        list_.add(app);
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        auto& sort = list_.changed().sort;
        if (each_) {
            list_.change_to(columns_of(query::AtomRows::kEach));
        } else if (sort == "newest") {
            // When its text was made says more than the text.
            sort = "newest_index";
        }
        return list_.check();
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = no_heaps();
        choice.other_sections = true;
        const auto rows = each_ ? query::AtomRows::kEach : query::AtomRows::kGroups;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        ASSIGN_OR_RETURN(auto answer, query::list_atoms(*dump, dump_, rows, list_.query()));
        const auto render = answer_.json ? render::atoms_json : render::atoms_text;
        render(fitted(invocation.out(), answer_), answer, query::dump_facts(*dump, dump_), rows);
        return Outcome{};
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    bool each_ = false;
    bool group_ = false;
    ListOptions list_;
};

}  // namespace

std::unique_ptr<Command> atoms_command() {
    return std::make_unique<AtomsCommand>();
}

}  // namespace beamdump::cli
