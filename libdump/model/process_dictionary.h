#pragma once

#include <libdump/base/error.h>
#include <libdump/model/process_context.h>
#include <libdump/model/process_run.h>
#include <libdump/term/term_scheme.h>

#include <cstdint>
#include <functional>

namespace beamdump {

/// Calls `visit` with the key and value words of each entry of a process's dictionary, in the order
/// of its hash table, until it returns false. Returns how many words led to no entry, as its tuple
/// is absent or malformed; `lost`, if set, is called with each of them in its place, and likewise.
Result<std::uint64_t> walk_dictionary(
    ProcessContext& context, const ProcessRun& run, const TagScheme& scheme,
    const std::function<bool(std::uint64_t key, std::uint64_t value)>& visit,
    const std::function<bool(std::uint64_t word)>& lost = {});

/// Walks the dictionary to its end.
Result<std::uint64_t> visit_dictionary(
    ProcessContext& context, const ProcessRun& run, const TagScheme& scheme,
    const std::function<void(std::uint64_t key, std::uint64_t value)>& visit);

/// Calls `visit` with each entry's word, that of a {Key, Value} tuple, until it returns false.
Result<std::uint64_t> visit_dictionary_entries(
    ProcessContext& context, const ProcessRun& run, const TagScheme& scheme,
    const std::function<bool(std::uint64_t entry)>& visit);

}  // namespace beamdump
