#include "query/tables/atom_sections.h"

#include "query/facts/sections.h"

#include <libdump/base/return_if_error.h>
#include <libdump/term/atom_text.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace beamdump::query {

Result<std::uint64_t> visit_atom_sections(
    Dump& dump, const std::string& file, std::uint64_t count,
    const std::function<void(std::uint32_t index, const std::string& text)>& visit) {
    static constexpr std::array<std::string_view, 1> kTags = {"atoms"};
    ASSIGN_OR_RETURN(auto sections, SectionListing::open(dump, file, {}));
    std::uint64_t atoms = 0;
    std::optional<std::string> pending;
    const auto take = [&] {
        if (pending) {
            ++atoms;
            visit(static_cast<std::uint32_t>(count >= atoms ? count - atoms : 0),
                  unquoted_atom(*pending));
            pending.reset();
        }
    };
    const auto line = [&](const SectionLine& read) {
        take();
        pending = read.text;
    };
    RETURN_IF_ERROR(
        sections->show_kinds(kTags, {[](std::string_view, std::string_view) {}, line, [] {}}));
    // A conversion that does not tell this may end within an atom's line.
    if (!dump.capture().has_cut_off() || dump.capture().has_cut_off_section()) {
        take();
    }
    return atoms;
}

}  // namespace beamdump::query
