#pragma once

#include "query/process/every_process.h"
#include "query/process/messages.h"
#include "query/things/stack_profile.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace beamdump::query {

/// A process of a report.
struct ReportProcess {
    std::uint64_t owner_id = 0;
    std::optional<std::uint64_t> parent;  ///< its owner id, as process_parents() sees it
    std::uint32_t stack = 0;              ///< a node of the profile
    const ProcessLine& line;
};

/// A mailbox: what its messages are.
struct Mailbox {
    std::uint64_t owner_id = 0;
    /// The most frequent shapes; `other` are all others. Nothing: its messages are not read.
    std::optional<MessageHistogram> shapes;
};

struct ReportOptions {
    bool sensitive = false;  ///< also the terms of processes flagged sensitive
    InputLimits limits = {};
    ReadProgress progress = {};
};

/// Mailboxes of a report, those with most messages, and shapes of each.
inline constexpr std::uint64_t kMostMailboxes = 1000;
inline constexpr std::size_t kMostShapes = 20;

struct ReportProcesses {
    StackProfile stacks;
    std::vector<Mailbox> mailboxes;
    std::uint64_t with_messages = 0;  ///< processes that have any
};

/// Tells of all processes, nearly in the order of the file. Reads each twice. Memory: the different
/// stacks, 92 bytes a process, the mailboxes.
Result<ReportProcesses> visit_report_processes(
    Dump& dump, const ReportOptions& options,
    const std::function<Result<void>(const ReportProcess&)>& visit);

}  // namespace beamdump::query
