#include "query/term/node_syntax.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>

#include <algorithm>
#include <vector>

namespace beamdump::query {

Result<TermSyntax> syntax_of_node(Dump& dump) {
    // Where a crash dump lacks its sections of modules, stacks alone would tell, so that each
    // process had its own syntax.
    if (is_of_crash_dump(dump) && !dump.trailer().totals().has_modules()) {
        return TermSyntax::kErlang;
    }
    ASSIGN_OR_RETURN(const auto* instances, dump.code().instances());
    std::vector<std::uint32_t> names;
    for (const auto& instance : *instances) {
        names.push_back(instance.name_atom);
    }
    std::ranges::sort(names);  // so that each page of atoms is read once
    for (const std::uint32_t name : names) {
        ASSIGN_OR_RETURN(const auto text, dump.atoms().find(name));
        if (text == "elixir") {
            return TermSyntax::kElixir;
        }
    }
    return TermSyntax::kErlang;
}

}  // namespace beamdump::query
