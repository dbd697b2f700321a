#pragma once

#include "query/process/process_details.h"

#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// The facts that proc_lib keeps in a process's dictionary.
struct DictionaryMarks {
    std::optional<std::string> initial_call;  ///< proc_lib:translate_initial_call/1's
    std::optional<std::string> label;         ///< proc_lib:set_label/1's
    std::optional<std::string> process_name;  ///< RabbitMQ's
};

/// The facts of a process's structure, in groups.
std::vector<FactGroup> process_facts(Dump& dump, const ProcessRun& run, TermPrinter& printer,
                                     const DictionaryMarks& marks);

}  // namespace beamdump::query
