#include "query/tables/atoms.h"

#include "cli/command_table.h"
#include "cli/shared_options.h"
#include "render/tables/atoms.h"

#include <libdump/base/return_if_error.h>

namespace beamdump::cli {

namespace {

class AtomsCommand final : public Command {
  public:
    [[nodiscard]] Description description() const override {
        return {"atoms", "Count atoms: how many of the limit, groups that differ in digits only",
                "atoms node.beamdump --sort newest"};
    }

    void add_options(CLI::App& app) override {
        add_dump(app, dump_);
        auto* list = app.add_flag("--list", options_.list, "List each atom, newest first");
        app.add_flag("--group", group_, "Group atoms that differ in digits only (default)")
            ->excludes(list);
        app.add_option("--sort", sort_,
                       "count (default for groups), newest (default with --list), bytes or name")
            ->option_text("ORDER");
        add_filter(app, options_.filters, "Only atoms that contain TEXT");
        add_count(app, "--limit", options_.limit, "Show at most N (0: all; default 20)");
        add_answer(app, answer_);
    }

    Result<void> check_options() override {
        if (!sort_.empty()) {
            ASSIGN_OR_RETURN(const auto sort, query::parse_atom_sort(sort_));
            options_.sort = sort;
        }
        return {};
    }

    Result<Outcome> run(Invocation& invocation) override {
        auto choice = no_heaps();
        choice.other_sections = true;
        ASSIGN_OR_RETURN(auto dump, invocation.open(dump_, choice));
        ASSIGN_OR_RETURN(const auto report, query::atom_report(*dump, dump_, options_));
        const auto render = answer_.json ? render::atoms_json : render::atoms_text;
        render(fitted(invocation.out(), answer_), report, options_.list);
        return Outcome{};
    }

  private:
    std::string dump_;
    AnswerOptions answer_;
    std::string sort_;
    bool group_ = false;
    query::AtomsOptions options_;
};

}  // namespace

std::unique_ptr<Command> atoms_command() {
    return std::make_unique<AtomsCommand>();
}

}  // namespace beamdump::cli
