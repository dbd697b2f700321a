#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/every_process.h"
#include "query/things/thing_kinds.h"

#include <libdump/base/budget.h>
#include <libdump/base/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::query {

/// How much an export holds: each level has all of the one before.
enum class Detail : std::uint8_t {
    kFacts,      ///< the node, and its tables except for processes
    kProcesses,  ///< processes, as `processes` lists them
    kStacks,     ///< what is read of each process: stack, relations, messages; binaries; atoms
};

/// facts, processes or stacks. kUsage.
Result<Detail> parse_detail(std::string_view name);
std::string_view detail_text(Detail detail);

struct ThingsOptions {
    Detail detail = Detail::kStacks;
    /// The first ones of each kind by size; what belongs to processes, of the exported ones.
    /// 0: all.
    std::uint64_t limit = 0;
    bool sensitive = false;  ///< also the stacks and messages of processes flagged sensitive
    InputLimits limits = {};
    ReadProgress progress = {};
    bool terms = true;  ///< FindingsOptions::terms
};

/// Takes things, kind by kind.
class ThingVisitor {
  public:
    ThingVisitor() = default;
    ThingVisitor(const ThingVisitor&) = delete;
    ThingVisitor& operator=(const ThingVisitor&) = delete;
    virtual ~ThingVisitor() = default;

    /// Whether things of one kind must come together. Otherwise several kinds may be begun, and
    /// their things come in any order, which reads the dump less often.
    [[nodiscard]] virtual bool one_kind_at_a_time() const { return false; }
    /// Things of this kind follow, none perhaps. A kind of which the dump says nothing is not
    /// begun. `total`: how many the dump has, where the limit may leave some out.
    virtual Result<void> begin(const ThingKind& kind, std::optional<std::uint64_t> total) = 0;
    /// One thing: a cell for each column of its kind, which was begun.
    virtual Result<void> thing(const ThingKind& kind, const Row& row) = 0;
};

/// Frames of a process's stack that are exported; the last one says that there are more.
inline constexpr std::uint64_t kMostFrames = 256;

/// Tells the visitor all things of a dump. Processes are read once for each of: stacks and
/// messages, parents, waits, holders of binaries. Memory: what the queries hold of the node's
/// tables and 16 bytes a process; at kStacks 150 bytes a process.
/// Returns which processes' terms were read, at kStacks.
Result<std::optional<ProcessesRead>> visit_things(Dump& dump, const std::string& file,
                                                  const ThingsOptions& options,
                                                  ThingVisitor& visitor);

/// Tells the visitor processes, parents, waits and links alone. `limit` is not regarded.
Result<ProcessesRead> visit_graph(Dump& dump, const std::string& file, const ThingsOptions& options,
                                  ThingVisitor& visitor);

}  // namespace beamdump::query
