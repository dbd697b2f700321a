#pragma once

#include <libdump/base/error.h>
#include <libdump/model/process_context.h>
#include <libdump/model/process_run.h>
#include <libdump/term/term_scheme.h>

#include <cstdint>
#include <functional>

namespace beamdump {

/// Tells `visit` the key and value words of each entry of a process's dictionary, in the order of
/// its hash table, until it says false. Gives how many words made no entry (and were skipped).
Result<std::uint64_t> walk_dictionary(
    ProcessContext& context, const ProcessRun& run, const TagScheme& scheme,
    const std::function<bool(std::uint64_t key, std::uint64_t value)>& visit);

/// The same, to the end.
Result<std::uint64_t> visit_dictionary(
    ProcessContext& context, const ProcessRun& run, const TagScheme& scheme,
    const std::function<void(std::uint64_t key, std::uint64_t value)>& visit);

/// Tells `visit` each entry's word, that of a {Key, Value} tuple, until it says false.
Result<std::uint64_t> visit_dictionary_entries(
    ProcessContext& context, const ProcessRun& run, const TagScheme& scheme,
    const std::function<bool(std::uint64_t entry)>& visit);

}  // namespace beamdump
