#include <libdump/model/dump_form.h>
#include <libdump/model/node_scheme.h>

#include <fmt/format.h>

#include <bit>

namespace beamdump {

std::uint64_t node_word_bytes(const Dump& dump) {
    constexpr std::uint64_t kMax = 8;
    return dump.node().has_word_size() ? dump.node().word_size() : kMax;
}

Result<TagScheme> node_scheme(const Dump& dump) {
    const auto& node = dump.node();
    auto scheme = scheme_of(static_cast<format::TermScheme>(node.term_scheme()));
    if (scheme) {
        scheme->style = dump.term_style().value_or(TermStyle());
    }
    if (scheme && is_of_crash_dump(dump)) {
        scheme->doubled_addresses = node_word_bytes(dump) < kWordBytes;
    }
    // Words of a converted crash dump have identifiers' numbers, not slots of a table.
    if (!scheme || !scheme->slots_in_identifiers || is_of_crash_dump(dump)) {
        return scheme;
    }
    scheme->pid_slots = node.process_limit();
    scheme->port_slots = node.port_limit();
    for (const auto slots : {scheme->pid_slots, scheme->port_slots}) {
        if (!std::has_single_bit(slots) || slots < format::kFewestSlots) {
            return fail(ErrorCode::kCorrupt,
                        fmt::format("the dump claims that the node's table of processes or ports "
                                    "has {} slots, which is impossible",
                                    slots));
        }
    }
    return scheme;
}

}  // namespace beamdump
