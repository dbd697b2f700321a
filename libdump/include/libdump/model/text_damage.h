#pragma once

#include <libdump/format/text_counts.h>

#include <cstdint>
#include <optional>
#include <set>

namespace beamdump {

/// What of a crash dump's text an answer lacks because it could not be used: the same whether the
/// answer is made of the text or of its conversion. Reported for a process: the lines of the
/// literals, of its stack, messages and dictionary; of its heap either all or, where the question
/// follows terms, the objects that it comes to.
class TextDamage {
  public:
    /// Of all of the text.
    void tell_all(const records::Trailer& trailer);
    /// Of one process; a second time: nothing more.
    void tell_process(const records::Trailer& trailer, const records::ProcessEnd& end,
                      bool whole_heap);
    /// A term leads to an object that was left out.
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
