#pragma once

#include "query/process/process_details.h"

#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// What a process's dictionary says of it, as proc_lib keeps it there.
struct DictionaryMarks {
    std::optional<std::string> initial_call;  ///< proc_lib:translate_initial_call/1's
    std::optional<std::string> label;         ///< proc_lib:set_label/1's
};

/// What a process's structure says, in groups.
std::vector<FactGroup> process_facts(Dump& dump, const ProcessRun& run, TermPrinter& printer,
                                     const DictionaryMarks& marks);

}  // namespace beamdump::query
