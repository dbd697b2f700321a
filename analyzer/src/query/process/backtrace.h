#pragma once

#include "query/facts/dump_facts.h"
#include "query/process/opened_process.h"
#include "query/process/process_line.h"

#include <libdump/base/error.h>
#include <libdump/term/backtrace_cursor.h>
#include <libdump/term/frame_cursor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

struct BacktraceOptions {
    std::int64_t term_limit = kNoTermLimit;  ///< kClassicTermLimit: the VM's own text
    bool sensitive = false;                  ///< show the stack of a process flagged sensitive
};

/// Counts of placeholders in the terms.
struct Gaps {
    std::uint64_t malformed = 0;         ///< words that are not a valid term
    std::uint64_t absent = 0;            ///< words or names that the dump lacks
    std::uint64_t partial_binaries = 0;  ///< binaries of which only the first bytes are here
    std::uint64_t lost_binaries = 0;     ///< of these, with fewer bytes than were to be captured

    /// Placeholders for what was to be in the dump.
    [[nodiscard]] std::uint64_t lost() const { return malformed + absent + lost_binaries; }
};

struct RegisterLine {
    std::uint64_t index = 0;
    std::uint64_t word = 0;
    bool is_catch = false;
    std::optional<std::string> catch_function;  ///< module:function/arity + offset
};

struct FrameLine {
    std::uint64_t index = 0;  ///< 0: the current function
    std::uint64_t code_address = 0;
    std::optional<std::uint64_t> stack_address;
    std::optional<std::string> function;  ///< module:function/arity, or the VM's text
    std::optional<std::uint64_t> offset;  ///< bytes from the function's ErtsCodeMFA
    std::optional<std::string> file;
    std::optional<std::uint32_t> line;
    std::vector<RegisterLine> registers;
    bool continued = false;
    bool cut_short = false;
};

/// The function of a frame, or the VM's text for its code address, and its line, if known.
void name_frame(Dump& dump, const StackFrame& frame, FrameLine& line);

/// A process's stack, as the VM's own text or as frames. Output is in pieces: memory does not
/// depend on the length of the stack or the size of a term. The dump must outlive it.
class Backtrace {
  public:
    static Result<std::unique_ptr<Backtrace>> open(Dump& dump, const std::string& file,
                                                   std::string_view name,
                                                   const BacktraceOptions& options);

    [[nodiscard]] const DumpFacts& dump_facts() const { return facts_; }
    [[nodiscard]] const ProcessLine& line() const { return process_->line; }
    [[nodiscard]] Withheld withheld() const { return withheld_; }
    [[nodiscard]] const std::string& void_detail() const { return process_->run.end.detail(); }
    /// Bytes captured of each binary; nullopt: all.
    [[nodiscard]] std::optional<std::uint64_t> binary_prefix_bytes() const;

    /// The VM's text: appends at most `max_bytes` to `out` and returns how many; 0 at the end.
    std::size_t next_text(std::size_t max_bytes, std::string& out);

    /// The saved x registers of the current function. nullopt: a crash dump lacks them, the VM's
    /// own text does not show them, or they are withheld.
    [[nodiscard]] const std::optional<std::vector<RegisterLine>>& arguments() const {
        return arguments_;
    }
    /// The next frame; nullopt after the last.
    std::optional<FrameLine> next_frame();
    /// Starts the text of a register's term, which next_term() returns; 0 at its end.
    void start_term(const RegisterLine& shown);
    std::size_t next_term(std::size_t max_bytes, std::string& out);

    /// Placeholders in all text so far.
    [[nodiscard]] Gaps gaps() const;
    /// Whether the last frame or the text was cut short, as the dump lacks the rest of the stack.
    [[nodiscard]] bool cut_short() const { return cut_short_; }

  private:
    Backtrace(Dump& dump, std::unique_ptr<OpenedProcess> process, BacktraceOptions options);
    Result<void> prepare();
    Result<void> show_as_the_vm();
    Result<void> load_arguments();

    Dump* dump_;  // non-owning
    DumpFacts facts_;
    std::unique_ptr<OpenedProcess> process_;
    BacktraceOptions options_;
    Withheld withheld_ = Withheld::kNo;
    std::optional<BacktraceCursor> text_;
    std::optional<FrameCursor> frames_;
    std::optional<TermPrinter> terms_;  ///< unless withheld
    std::optional<std::vector<RegisterLine>> arguments_;
    bool cut_short_ = false;
};

}  // namespace beamdump::query
