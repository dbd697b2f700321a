#pragma once

#include <records.pb.h>

#include <cstdint>
#include <string>
#include <vector>

namespace beamdump {

/// What could not be used of a part of a crash dump's text.
struct TextCounts {
    std::uint64_t malformed = 0;        ///< malformed lines
    std::uint64_t first_malformed = 0;  ///< offset in the text
    std::uint64_t overlaps = 0;         ///< objects skipped because they overlap others
    std::uint64_t first_overlap = 0;    ///< offset in the text

    static TextCounts of(const records::CrashTextCounts& record);
    [[nodiscard]] records::CrashTextCounts record() const;

    [[nodiscard]] bool empty() const { return malformed == 0 && overlaps == 0; }
    void add_malformed(std::uint64_t offset);
    void add_overlap(std::uint64_t offset);
    void add(const TextCounts& more);
    /// A sentence for each kind of missing lines.
    [[nodiscard]] std::vector<std::string> sentences() const;
};

/// An object of a heap whose line could not be used.
struct LeftOut {
    std::uint64_t address = 0;
    std::uint64_t offset = 0;  ///< of its line in the text
    bool overlaps = false;     ///< it overlaps another object; else its line is malformed

    void count(TextCounts& counts) const;
};

}  // namespace beamdump
