#include "query/tables/atom_sections.h"

#include "query/node/sections.h"

#include <libdump/base/decimal.h>
#include <libdump/base/return_if_error.h>
#include <libdump/term/atom_text.h>

#include <array>
#include <string_view>
#include <utility>

namespace beamdump::query {

Result<AtomSections> visit_atom_sections(
    Dump& dump, const std::string& file, std::uint64_t count,
    const std::function<void(std::uint32_t index, const std::string& text)>& visit) {
    static constexpr std::array<std::string_view, 2> kTags = {"index_table", "atoms"};
    ASSIGN_OR_RETURN(auto sections, SectionListing::open(dump, file, {}));
    AtomSections found;
    bool is_atoms = false;
    bool is_limit = false;
    std::optional<std::string> pending;
    const auto take = [&] {
        if (pending) {
            ++found.atoms;
            visit(static_cast<std::uint32_t>(count >= found.atoms ? count - found.atoms : 0),
                  unquoted_atom(*pending));
            pending.reset();
        }
    };
    const auto begin = [&](std::string_view tag, std::string_view argument) {
        is_atoms = tag == "atoms";
        is_limit = tag == "index_table" && argument == "atom_tab";
    };
    const auto line = [&](const SectionLine& read) {
        if (is_atoms) {
            take();
            pending = read.text;
        } else if (is_limit && read.name && *read.name == "limit") {
            found.limit = decimal_number(read.value);
        }
    };
    RETURN_IF_ERROR(sections->show_kinds(kTags, {begin, line, [] {}}));
    if (!dump.capture().has_cut_off()) {
        take();
    }
    return found;
}

}  // namespace beamdump::query
