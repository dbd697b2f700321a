#pragma once

#include <records.pb.h>

#include <cstdint>
#include <string>
#include <vector>

namespace beamdump {

/// What of a part of a crash dump's text could not be used.
struct TextCounts {
    std::uint64_t malformed = 0;        ///< lines that make no sense
    std::uint64_t first_malformed = 0;  ///< offset in the text
    std::uint64_t overlaps = 0;         ///< objects left out: they reach into others
    std::uint64_t first_overlap = 0;    ///< offset in the text

    static TextCounts of(const records::CrashTextCounts& record);
    [[nodiscard]] records::CrashTextCounts record() const;

    [[nodiscard]] bool empty() const { return malformed == 0 && overlaps == 0; }
    void add_malformed(std::uint64_t offset);
    void add_overlap(std::uint64_t offset);
    void add(const TextCounts& more);
    /// A sentence about each kind of lines that are missing.
    [[nodiscard]] std::vector<std::string> sentences() const;
};

/// An object of a heap whose line could not be used.
struct LeftOut {
    std::uint64_t address = 0;
    std::uint64_t offset = 0;  ///< of its line in the text
    bool overlaps = false;     ///< it would reach into another one; else its line makes no sense

    void count(TextCounts& counts) const;
};

}  // namespace beamdump
