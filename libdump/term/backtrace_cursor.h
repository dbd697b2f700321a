#pragma once

#include <libdump/term/process_stack.h>
#include <libdump/term/term_printer.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

/// What a backtrace shows that the VM's own text does not.
struct BacktraceExtras {
    std::vector<std::uint64_t> arguments;  ///< x registers that are saved: lines before the stack
    bool code_points = false;  ///< names of shared code, for which the VM has "unknown function"
};

/// The text of process_info(P, backtrace), byte for byte (erl_process.c, erts_stack_dump, OTP
/// 25.2.3; a process asked by another has no arguments to show), in pieces of any size; with
/// terms and names of functions in Elixir's syntax where the scheme's style says so. A process
/// that is flagged sensitive prints nothing there: the caller must check that.
///
/// What cannot be read is marked as TermPrinter does; where the stack's words are missing the text
/// ends with a line "#Absent<from>-<to>". Memory: a TermPrinter's; neither the length of the
/// backtrace nor the size of a term adds to it. Dropping the cursor releases all. The context must
/// outlive it and not change.
class BacktraceCursor {
  public:
    BacktraceCursor(TermContext& context, const TagScheme& scheme, const ProcessStack& stack,
                    std::int64_t term_limit = kNoTermLimit, BacktraceExtras extras = {});

    /// Appends at most `max_bytes` of the text to `out` and gives how many; 0 only when done (or
    /// for max_bytes 0).
    std::size_t next(std::size_t max_bytes, std::string& out);

    [[nodiscard]] bool done() const;
    [[nodiscard]] PrintStatistics statistics() const;

  private:
    struct Location {
        std::uint64_t address = 0;
        std::string text;
    };

    void advance();
    void append_entry(const StackEntry& entry);
    void append_code(std::uint64_t address);
    void append_pointer(std::uint64_t address);
    void append_stack_address(std::uint64_t address);
    void append_register(char kind, std::uint64_t index);
    void start_term(std::uint64_t word);
    [[nodiscard]] std::string location_text(std::uint64_t address);

    TermContext* context_;  ///< non-owning
    TagScheme scheme_;
    ProcessStack stack_;
    StackWalk walk_;
    BacktraceExtras extras_;
    std::size_t argument_ = 0;  ///< the next of them
    TermPrinter printer_;
    std::vector<Location> locations_;  ///< recent ones, by address
    std::string line_;                 ///< text around terms, not yet taken
    std::size_t line_at_ = 0;
    bool in_term_ = false;
    bool at_start_ = true;
    bool at_end_ = false;
    std::uint64_t missing_ = 0;  ///< stack words and catches
};

}  // namespace beamdump
