#pragma once

#include "query/process/process_line.h"

#include <libdump/base/error.h>
#include <libdump/model/process_context.h>
#include <libdump/term/process_stack.h>
#include <libdump/term/term_scheme.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace beamdump::query {

/// One process with the context for its terms. Not movable: the context refers to the run. The dump
/// must outlive it.
struct OpenedProcess {
    OpenedProcess(Dump& dump, ProcessRun opened_run, const TagScheme& node_scheme);

    ProcessRun run;
    TagScheme scheme;  ///< the node's, except that large maps are printed as pairs in every release
    ProcessLine line;

    /// The saved instruction pointer and the stack.
    [[nodiscard]] ProcessStack stack() const;
    [[nodiscard]] ProcessContext& context() const { return *context_; }
    /// The saved x registers of the current function; none if the process is not at a function's
    /// start. For a hibernating process: module, function and argument list of its wake-up call
    /// (erl_process.c, hibernate; OTP 25.2.3). A crash dump has none.
    Result<std::vector<std::uint64_t>> arguments();

  private:
    std::unique_ptr<ProcessContext> context_;
};

/// How much of a process's heap a query reads; damage of a crash dump's text is reported for that
/// part.
enum class HeapUse : std::uint8_t { kTerms, kWhole };

/// Opens a process by `<0.123.0>`, `0.123.0` or a registered name.
Result<std::unique_ptr<OpenedProcess>> open_process(Dump& dump, std::string_view name,
                                                    HeapUse use = HeapUse::kTerms);

}  // namespace beamdump::query
