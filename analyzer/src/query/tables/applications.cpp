#include "query/tables/applications.h"

#include "query/process/process_line.h"
#include "query/tables/ets_rows.h"
#include "query/term/term_text.h"
#include "query/term/term_view.h"

#include <libdump/base/return_if_error.h>

#include <utility>

namespace beamdump::query {

namespace {

constexpr std::size_t kVersionText = 200;
constexpr std::size_t kMostModules = 1'000'000;

/// Places in the records.
constexpr std::uint64_t kApplFields = 6;  // appl, name, appl_data, descr, id, vsn
constexpr std::uint64_t kApplData = 3;
constexpr std::uint64_t kApplVersion = 6;
constexpr std::uint64_t kDataFields = 6;  // appl_data, name, regs, phases, mod, mods
constexpr std::uint64_t kDataModules = 6;

class Rows {
  public:
    explicit Rows(Dump& dump) : dump_(dump) {}

    /// {{loaded, Name}, #appl{}}
    void add(TermContext& context, const TagScheme& scheme, std::uint64_t row) {
        const TermView view(context, scheme);
        if (view.arity(row) != 2) {
            return;
        }
        const auto key = view.element(row, 1);
        const auto appl = view.element(row, 2);
        if (!key || !appl || view.arity(*key) != 2 ||
            !is_atom(view, view.element(*key, 1), "loaded") || view.arity(*appl) < kApplFields ||
            !is_atom(view, view.element(*appl, 1), "appl")) {
            return;
        }
        const auto name_word = view.element(*key, 2);
        const auto name = name_word ? view.atom(*name_word) : std::nullopt;
        if (!name) {
            return;
        }
        LoadedApplication application{.name = atom_text(dump_, *name), .version = {}};
        if (const auto version = view.element(*appl, kApplVersion)) {
            TermPrinter printer(context, scheme);
            application.version = without_quotes(term_text(printer, *version, kVersionText));
        }
        if (const auto data = view.element(*appl, kApplData);
            data && view.arity(*data) >= kDataFields) {
            add_modules(view, view.element(*data, kDataModules));
        }
        found_.applications.push_back(std::move(application));
    }

    ModuleApplications take() { return std::move(found_); }

  private:
    bool is_atom(const TermView& view, std::optional<std::uint64_t> word, std::string_view name) {
        const auto index = word ? view.atom(*word) : std::nullopt;
        return index && atom_text(dump_, *index) == name;
    }

    void add_modules(const TermView& view, std::optional<std::uint64_t> list) {
        for (auto left = view.most_cells(); list && left > 0; --left) {
            const auto cell = view.cell(*list);
            if (!cell || found_.by_module.size() == kMostModules) {
                return;
            }
            if (const auto module = view.atom(cell->first)) {
                found_.by_module.emplace(*module, found_.applications.size());
            }
            list = cell->second;
        }
    }

    static std::string without_quotes(TermText text) {
        if (!text.cut && text.text.size() >= 2 && text.text.front() == '"' &&
            text.text.back() == '"') {
            return text.text.substr(1, text.text.size() - 2);
        }
        return text.cut ? text.text + "..." : std::move(text.text);
    }

    Dump& dump_;
    ModuleApplications found_;
};

}  // namespace

Result<ModuleApplications> module_applications(Dump& dump) {
    ASSIGN_OR_RETURN(const auto listing, EtsRowListing::open(dump, "ac_tab", {}));
    Rows rows(dump);
    RETURN_IF_ERROR(listing->each_tuple([&](EtsRowListing::Reader& reader, const TagScheme& scheme,
                                            std::uint64_t row, std::uint64_t /*words*/) {
        TermContext& context = reader.context;
        rows.add(context, scheme, row);
        return true;
    }));
    return rows.take();
}

}  // namespace beamdump::query
