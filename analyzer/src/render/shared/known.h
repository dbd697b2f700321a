#pragma once

#include "query/facts/dump_facts.h"
#include "render/shared/json.h"
#include "render/shared/table.h"

#include <cstdint>
#include <string_view>

namespace beamdump::render {

/// "at least " before a number of what sections of that tag tell, where the text of a crash dump
/// breaks off before the last of them; else nothing.
inline std::string_view at_least(const query::DumpFacts& facts, std::string_view tag) {
    return query::may_lack_some(facts, tag) ? "at least " : "";
}

/// The line in place of a list that is empty. `things`: "ports".
inline void print_none(Output& output, const query::DumpFacts& facts, std::uint64_t all,
                       std::string_view things) {
    if (query::known_total(facts, all)) {
        print_no_match(output, all, things);
    } else {
        output.print("no {} before the place where the crash dump breaks off\n", things);
    }
}

/// Members "total" and "matching"; neither where the crash dump breaks off before the first one.
inline void write_totals(JsonWriter& json, const query::DumpFacts& facts, std::uint64_t total,
                         std::uint64_t matching) {
    if (const auto known = query::known_total(facts, total)) {
        json.member("total", *known);
        json.member("matching", matching);
    }
}

}  // namespace beamdump::render
