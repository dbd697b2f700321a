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
/// a message (gen_server.erl as Debian compiles it: loop/7 of OTP 25.2.3 and 27.3.4, loop/5 and
/// loop_hibernate/4 of 29.1.1).
class LoopFrame {
  public:
    LoopFrame(Dump& dump, OpenedProcess& process, const StackFrame& frame)
        : dump_(dump),
          context_(process.context()),
          scheme_(process.scheme),
          view_(context_, scheme_),
          frame_(frame) {}

    /// The y register with the state, if the other registers are what they must be.
    [[nodiscard]] std::optional<std::size_t> state_register() {
        if (!frame_.location || !frame_.location->function || frame_.cut_short) {
            return std::nullopt;
        }
        constexpr std::size_t kInLoop = 3;
        constexpr std::size_t kHibernating = 2;
        const std::string function = function_text(dump_, *frame_.location->function);
        const auto registers = frame_.registers.size();
        if (function == "gen_server:loop/7") {
            // Debug, HibernateAfterTimeout, Mod or a cache of its callbacks, State, Name, Parent.
            return registers == 6 && is_timeout(1) &&
                           (is_atom(2) || has_tag(2, "callback_cache")) &&
                           (kind(5) == WordKind::kPid || is_atom(5) || kind(5) == WordKind::kBoxed)
                       ? std::optional(kInLoop)
                       : std::nullopt;
        }
        if (function == "gen_server:loop/5") {
            // HibernateAfterTimeout, two empty lists, State, ServerData.
            return registers == 5 && is_timeout(0) && has_tag(4, "server_data")
                       ? std::optional(kInLoop)
                       : std::nullopt;
        }
        // Debug, Timer, State, ServerData: erlang:hibernate/0 keeps the stack.
        return function == "gen_server:loop_hibernate/4" && registers == 4 &&
                       has_tag(3, "server_data")
                   ? std::optional(kHibernating)
                   : std::nullopt;
    }

  private:
    [[nodiscard]] std::uint64_t word(std::size_t y) const { return frame_.registers.at(y).word; }
    [[nodiscard]] WordKind kind(std::size_t y) const { return word_kind(scheme_, word(y)); }
    [[nodiscard]] bool is_atom(std::size_t y) const { return kind(y) == WordKind::kAtom; }
    [[nodiscard]] bool is_timeout(std::size_t y) {
        return kind(y) == WordKind::kSmall || names(word(y), "infinity");
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
};

}  // namespace

Result<std::optional<BehaviourState>> behaviour_state(Dump& dump, OpenedProcess& process) {
    FrameCursor frames(process.context(), process.scheme, process.stack());
    const auto frame = frames.next();
    if (!frame) {
        return std::nullopt;
    }
    const auto y = LoopFrame(dump, process, *frame).state_register();
    return y ? std::optional(BehaviourState{frame->registers.at(*y).word, *y}) : std::nullopt;
}

}  // namespace beamdump::query
