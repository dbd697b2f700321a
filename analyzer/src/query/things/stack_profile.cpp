#include "query/things/stack_profile.h"

#include "query/process/backtrace.h"
#include "query/things/things.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/return_if_error.h>
#include <libdump/term/frame_cursor.h>

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace beamdump::query {

/// Makes a profile of a dump.
class ProfileReader {
  public:
    ProfileReader(Dump& dump, const StackProfileOptions& options, StackProfile& profile)
        : dump_(dump), options_(options), profile_(profile) {}

    Result<void> read() {
        const auto withheld = [this](const records::ProcessRow& row) {
            const bool is_void = row.void_reason() != records::VOID_REASON_NONE;
            return add(process_line(dump_, row), row.owner_id(),
                       {place({is_void ? "(stack not in the dump)" : "(flagged sensitive)",
                               std::nullopt, std::nullopt})},
                       nullptr);
        };
        ASSIGN_OR_RETURN(profile_.read_,
                         visit_processes(dump_,
                                         {.sensitive = options_.sensitive,
                                          .progress = options_.progress,
                                          .withheld = withheld},
                                         [this](OpenedProcess& process) {
                                             return add(process.line, process.run.owner_id(),
                                                        places_of(process), &process);
                                         }));
        return {};
    }

  private:
    /// The innermost first.
    std::vector<std::uint32_t> places_of(OpenedProcess& process) {
        std::vector<std::uint32_t> found;
        FrameCursor frames(process.context(), process.scheme, process.stack());
        while (const auto frame = frames.next()) {
            if (frame->continued) {
                continue;
            }
            const bool full = found.size() == kMostFrames;
            if (!full) {
                FrameLine line;
                name_frame(dump_, *frame, line);
                StackPlace here{line.function.value_or("(unknown function)"), std::nullopt,
                                std::nullopt};
                if (options_.lines) {
                    here.file = line.file;
                    here.line = line.line;
                }
                found.push_back(place(std::move(here)));
            }
            if (full || frame->cut_short) {
                found.push_back(place({"(further frames)", std::nullopt, std::nullopt}));
                break;
            }
        }
        if (found.empty()) {
            found.push_back(place({"(no stack)", std::nullopt, std::nullopt}));
        }
        return found;
    }

    std::uint32_t place(StackPlace wanted) { return profile_.stacks_.place(std::move(wanted)); }

    [[nodiscard]] std::optional<std::uint64_t> weight_of(const ProcessLine& line) const {
        switch (options_.weight) {
            case StackWeight::kMemory:
                return line.memory_bytes;
            case StackWeight::kQueue:
                return line.message_queue_length;
            default:
                return 1;
        }
    }

    Result<void> add(const ProcessLine& line, std::uint64_t owner,
                     const std::vector<std::uint32_t>& innermost_first, OpenedProcess* process) {
        const auto weight = weight_of(line);
        if (!weight) {
            ++profile_.unweighted_;
            return {};
        }
        if (*weight == 0) {
            return {};
        }
        const auto at = profile_.stacks_.add(innermost_first, *weight);
        if (profile_.stacks_.bytes() > options_.limits.memory) {
            return fail(ErrorCode::kLimit,
                        fmt::format("the different stacks of {} processes need more memory than "
                                    "{}; --max-memory allows more",
                                    dump_.processes().size(), bytes_text(options_.limits.memory)));
        }
        return options_.visit ? options_.visit(line, owner, at, process) : Result<void>{};
    }

    Dump& dump_;
    const StackProfileOptions& options_;
    StackProfile& profile_;
};

Result<StackProfile> StackProfile::make(Dump& dump, const StackProfileOptions& options) {
    StackProfile profile;
    RETURN_IF_ERROR(ProfileReader(dump, options, profile).read());
    return profile;
}

Result<StackWeight> parse_stack_weight(std::string_view name) {
    for (const auto weight : {StackWeight::kCount, StackWeight::kMemory, StackWeight::kQueue}) {
        if (stack_weight_text(weight) == name) {
            return weight;
        }
    }
    return fail(ErrorCode::kUsage, fmt::format("--weight {}: it is count, memory or queue", name));
}

std::string_view stack_weight_text(StackWeight weight) {
    switch (weight) {
        case StackWeight::kMemory:
            return "memory";
        case StackWeight::kQueue:
            return "queue";
        default:
            return "count";
    }
}

}  // namespace beamdump::query
