#pragma once

#include "query/facts/dump_facts.h"

#include <string>
#include <string_view>

namespace beamdump::render {

/// Why a process's copy is void, as the end of a sentence about it: "was running when it was
/// captured". `reason` as query::void_reason_text() gives it.
std::string_view void_clause(std::string_view reason);

/// A line that says how the next dump gets that process's memory; empty where that is not known, or
/// where the node is gone. `pid`: "<0.93.0>".
std::string void_advice(const query::DumpFacts& dump, std::string_view reason,
                        std::string_view pid);

}  // namespace beamdump::render
