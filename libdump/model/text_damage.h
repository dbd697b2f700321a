#pragma once

#include <libdump/format/text_counts.h>

#include <cstdint>
#include <optional>
#include <set>

namespace beamdump {

/// The unusable parts of a crash dump's text that an answer lacks; the same for the text and for
/// its conversion. Reported for a process: lines of the literals and of its stack, messages and
/// dictionary; of its heap all, or, if the query follows terms, the objects that it reaches.
class TextDamage {
  public:
    /// Tells the damage of all of the text.
    void tell_all(const records::Trailer& trailer);
    /// Tells that of one process; a second call adds nothing.
    void tell_process(const records::Trailer& trailer, const records::ProcessEnd& end,
                      bool whole_heap);
    /// A term refers to an object that was left out.
    void met(const LeftOut& object);

    [[nodiscard]] const TextCounts& counts() const { return counts_; }

  private:
    TextCounts counts_;
    std::optional<std::uint64_t> owner_;
    bool heap_told_ = false;
    std::set<std::uint64_t> met_;
};

/// The object at an address that a process's record says was left out.
std::optional<LeftOut> left_out_at(const records::ProcessEnd& end, std::uint64_t address);

}  // namespace beamdump
