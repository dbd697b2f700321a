#pragma once

#include "query/node/process_line.h"

#include <libdump/base/error.h>
#include <libdump/model/process_context.h>
#include <libdump/term/process_stack.h>
#include <libdump/term/term_scheme.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// One process, found and ready for questions about its terms. Does not move: its context refers to
/// its run. The dump must outlive it.
struct OpenedProcess {
    OpenedProcess(Dump& dump, ProcessRun opened_run, const TagScheme& node_scheme);

    ProcessRun run;
    TagScheme scheme;  ///< the node's, but for large maps: as pairs in every release
    ProcessLine line;

    /// Where the process would go on, and its stack.
    [[nodiscard]] ProcessStack stack() const;
    [[nodiscard]] ProcessContext& context() const { return *context_; }
    /// The x registers that are saved for the function in which it goes on; none where it goes on
    /// elsewhere than at a function's start. Of a hibernating process: module, function and list of
    /// arguments that it wakes up in (erl_process.c, hibernate; OTP 25.2.3). Those that the dump
    /// has: a crash dump has none.
    Result<std::vector<std::uint64_t>> arguments();

  private:
    std::unique_ptr<ProcessContext> context_;
};

/// How much of a process's heap a question goes over: of a crash dump's, as much is said to be
/// damaged.
enum class HeapUse : std::uint8_t { kTerms, kWhole };

/// The process that `name` means: `<0.123.0>`, `0.123.0` or a registered name.
Result<std::unique_ptr<OpenedProcess>> open_process(Dump& dump, std::string_view name,
                                                    HeapUse use = HeapUse::kTerms);

}  // namespace beamdump::query
