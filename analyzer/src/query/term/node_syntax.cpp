#include "query/term/node_syntax.h"

#include <algorithm>
#include <vector>

namespace beamdump::query {

TermSyntax syntax_of_node(Dump& dump) {
    const auto instances = dump.code().instances();
    if (!instances) {
        dump.faults().note(instances.error());
        return TermSyntax::kErlang;
    }
    std::vector<std::uint32_t> names;
    for (const auto& instance : **instances) {
        names.push_back(instance.name_atom);
    }
    std::ranges::sort(names);  // so that each page of atoms is read once
    const bool elixir = std::ranges::any_of(
        names, [&dump](std::uint32_t name) { return dump.atoms().text(name) == "elixir"; });
    return elixir ? TermSyntax::kElixir : TermSyntax::kErlang;
}

}  // namespace beamdump::query
