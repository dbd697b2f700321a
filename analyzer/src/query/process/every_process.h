#pragma once

#include "query/process/opened_process.h"

#include <libdump/base/error.h>
#include <libdump/model/dump.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace beamdump::query {

/// Told how many processes of how many were read.
using ReadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct EveryProcessOptions {
    bool sensitive = false;  ///< also the terms of processes flagged sensitive
    /// The whole heap of each is looked at: of a crash dump, all of its damage is said.
    HeapUse use = HeapUse::kTerms;
    ReadProgress progress = {};
    /// Only these rows of the index.
    std::optional<std::vector<std::uint64_t>> rows = {};
    /// Told the rows of those whose terms are not read.
    std::function<Result<void>(const records::ProcessRow&)> withheld = {};
};

/// How many processes were read, and how many were not and why.
struct ProcessesRead {
    std::uint64_t read = 0;
    std::uint64_t inconsistent = 0;  ///< void: their terms are not in the dump
    std::uint64_t sensitive = 0;     ///< flagged sensitive: withheld
    [[nodiscard]] bool complete() const { return inconsistent == 0 && sensitive == 0; }
};

/// Opens each process whose terms may be shown, one at a time, nearly in the order of the file.
/// Memory: one process, and 4096 rows of the index.
Result<ProcessesRead> visit_processes(Dump& dump, const EveryProcessOptions& options,
                                      const std::function<Result<void>(OpenedProcess&)>& visit);

}  // namespace beamdump::query
