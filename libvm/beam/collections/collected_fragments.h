#pragma once

#include <libvm/beam/processes/messages.h>

#include <vector>

namespace beamdump::beam {

/// The heap fragments whose objects a collection moves: a process's own, and those of messages that
/// it has received (erl_gc.c, young_gen_usage(), OTP 25 to 29).
class CollectedFragments {
  public:
    static Result<CollectedFragments> open(Vm& vm);

    /// Whether the process has any. `structure` is its Process.
    [[nodiscard]] bool any(const StructView& structure) const;

    /// The used words of each. kChanged: there are more than `most`.
    Result<std::vector<Span>> read(const StructView& structure, std::size_t most);

    /// Calls `visit` with the terms' words of the messages in the process's queues, `most` at most.
    Result<void> each_message(const ProcessView& process, std::uint64_t most,
                              const std::function<Result<void>(std::uint64_t)>& visit);

  private:
    CollectedFragments(FragmentReader fragments, MessageWalker messages, LayoutNames& names)
        : fragments_(fragments),
          messages_(std::move(messages)),
          own_(names.field("Process", "mbuf")),
          received_(names.field("Process", "msg_frag")) {}

    FragmentReader fragments_;
    MessageWalker messages_;
    Field own_, received_;
};

}  // namespace beamdump::beam
