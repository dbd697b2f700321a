#include "query/process/behaviour_state.h"

#include "query/process/process_line.h"
#include "query/term/term_view.h"

#include <libdump/term/frame_cursor.h>

#include <string>
#include <string_view>
#include <vector>

namespace beamdump::query {

namespace {

/// The innermost frame of a process, and where gen_server keeps the state in it while it waits for
/// a message. Its last registers are the same in each way that the compilers of the releases have
/// of it: registers that are not used before them, or one more where the process waits with a time
/// out, move them (gen_server.erl; loop/6 of R16 to OTP 19, loop/7 of 20 to 27, loop/5
/// and loop_hibernate/4 of 28 and 29).
class LoopFrame {
  public:
    LoopFrame(Dump& dump, OpenedProcess& process, const StackFrame& frame,
              const std::vector<FrameRegister>& registers)
        : dump_(dump),
          context_(process.context()),
          scheme_(process.scheme),
          view_(context_, scheme_),
          frame_(frame),
          registers_(registers) {}

    /// The y register with the state, if the other registers are what they must be.
    [[nodiscard]] std::optional<std::size_t> state_register() {
        if (!frame_.location || !frame_.location->function) {
            return std::nullopt;
        }
        const std::string function = function_text(dump_, *frame_.location->function);
        const auto count = registers_.size();
        if (function == "gen_server:loop/7" || function == "gen_server:loop/6") {
            // Debug, a timeout or two, Mod or a cache of its callbacks, State, Name, Parent.
            constexpr std::size_t kMost = 8;
            constexpr std::size_t kLeast = 6;
            constexpr std::size_t kAfterState = 3;
            if (count < kLeast || count > kMost) {
                return std::nullopt;
            }
            const auto state = count - kAfterState;
            return is_timeout(state - 2) && (count < kMost || is_timeout(state - 3)) &&
                           (is_atom(state - 1) || has_tag(state - 1, "callback_cache")) &&
                           is_name(state + 1) && is_name(state + 2)
                       ? std::optional(state)
                       : std::nullopt;
        }
        // A timeout among what is before State and ServerData; one that hibernates has a timer:
        // erlang:hibernate/0 keeps the stack.
        constexpr std::size_t kMost = 6;
        constexpr std::size_t kLeast = 4;
        const bool loops = function == "gen_server:loop/5";
        if ((!loops && function != "gen_server:loop_hibernate/4") || count < kLeast ||
            count > kMost || !has_tag(count - 1, "server_data")) {
            return std::nullopt;
        }
        const auto state = count - 2;
        bool timeout = !loops;
        for (std::size_t y = 0; y < state; ++y) {
            timeout = timeout || is_timeout(y);
        }
        return timeout ? std::optional(state) : std::nullopt;
    }

  private:
    [[nodiscard]] std::uint64_t word(std::size_t y) const { return registers_.at(y).word; }
    [[nodiscard]] WordKind kind(std::size_t y) const { return word_kind(scheme_, word(y)); }
    [[nodiscard]] bool is_atom(std::size_t y) const { return kind(y) == WordKind::kAtom; }
    [[nodiscard]] bool is_timeout(std::size_t y) {
        return kind(y) == WordKind::kSmall || names(word(y), "infinity");
    }
    /// A registered name, a pid, or a name of another registry.
    [[nodiscard]] bool is_name(std::size_t y) const {
        return kind(y) == WordKind::kPid || is_atom(y) || kind(y) == WordKind::kBoxed;
    }
    bool names(std::uint64_t word, std::string_view name) {
        const auto atom = view_.atom(word);
        return atom && atom_text(context_, *atom) == name;
    }
    bool has_tag(std::size_t y, std::string_view tag) {
        const auto first = view_.arity(word(y)) == 0 ? std::nullopt : view_.element(word(y), 1);
        return first && names(*first, tag);
    }

    Dump& dump_;
    TermContext& context_;
    const TagScheme& scheme_;
    TermView view_;
    const StackFrame& frame_;
    const std::vector<FrameRegister>& registers_;
};

}  // namespace

Result<std::optional<BehaviourState>> behaviour_state(Dump& dump, OpenedProcess& process) {
    FrameCursor frames(process.context(), process.scheme, process.stack());
    const auto frame = frames.next();
    if (!frame || frame->cut_short) {
        return std::nullopt;
    }
    auto registers = frame->registers;
    if (registers.empty()) {
        // Up to OTP 23 a function's return address is above its registers on the stack, so that
        // these stand below that of its caller (beam_emu.c, CP; from OTP 24 on they are below its
        // own).
        const auto caller = frames.next();
        if (!caller || caller->cut_short) {
            return std::nullopt;
        }
        registers = caller->registers;
    }
    const auto y = LoopFrame(dump, process, *frame, registers).state_register();
    return y ? std::optional(
                   BehaviourState{registers.at(*y).word, *y, frame->registers.empty() ? 1U : 0U})
             : std::nullopt;
}

}  // namespace beamdump::query
