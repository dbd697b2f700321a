#pragma once

#include <libvm/beam/layout/heap_binary.h>
#include <libvm/memory/memory_source.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace beamdump::capture {

/// Finds many texts in memory at once and overwrites them with asterisks: as bytes anywhere (UTF-8,
/// and Latin-1 where that differs), and as strings, which are lists of characters, in either
/// direction. Most memory is skipped in steps as long as the shortest text. Strings, and binaries
/// on a heap that are such a text, become kShortest asterisks, whatever their length was; other
/// bytes become as many as they are, since something may refer to those behind them.
class SecretTexts {
  public:
    /// Shorter ones would match by chance all over a node.
    static constexpr std::size_t kShortest = 4;

    /// `utf8`: of kShortest bytes or more, else it is not taken.
    void add(std::string_view utf8);
    [[nodiscard]] bool empty() const { return texts_.empty(); }

    /// How much memory the longest of them takes in any form: one that crosses a border between two
    /// pieces is found when this many bytes on both sides are examined together.
    [[nodiscard]] std::size_t reach() const { return reach_; }

    /// The memory around some bytes, into which lists lead.
    class Beyond {
      public:
        Beyond() = default;
        Beyond(const Beyond&) = delete;
        Beyond& operator=(const Beyond&) = delete;
        virtual ~Beyond() = default;
        /// Nothing where it cannot be read.
        virtual std::optional<std::uint64_t> word(memory::Address address) = 0;
        /// A word there, now `from`, is to become `to` when it is written.
        virtual void overwrite(memory::Address address, std::uint64_t from, std::uint64_t to) = 0;
    };

    /// Overwrites all texts in bytes of the memory from `address` on. A list is followed by its
    /// pointers, into `beyond` too, if there is one, and shortened; its cells are also searched for
    /// side by side, in either direction.
    void scrub(std::span<std::byte> bytes, memory::Address address, Beyond* beyond = nullptr) const;
    /// The same in words of the scheme, which may have binaries; nullptr: an unknown scheme.
    void scrub_words(std::span<std::byte> bytes, memory::Address address, const TagScheme* scheme,
                     Beyond* beyond = nullptr) const;

    /// Overwrites what the bytes end with if a text begins so, kShortest bytes of it at least: the
    /// rest of the text was cut off.
    void scrub_cut_end(std::span<std::byte> bytes) const;

    void scrub(std::string& text) const;
    /// Scrubs texts that are long enough not to be a part of ordinary names.
    void scrub_name(std::string& text) const;

  private:
    /// Texts of similar length: the shortest determines how fast all of them are searched for.
    struct Group {
        std::size_t shortest = 0;
        std::vector<std::uint32_t> texts;
        std::vector<std::uint8_t> steps;  // by a block's hash: how far on a text could end
        std::unordered_map<std::uint16_t, std::vector<std::uint32_t>> ends;  // of a window
    };
    struct Cells;

    void add_bytes(std::string text);
    void add_string(const std::u32string& text);
    void add_characters(std::u32string characters);
    void put_new(Group& group, std::uint32_t number);
    void put(Group& group, std::uint32_t number);
    void scrub_bytes(const Group& group, std::span<std::byte> bytes,
                     const TagScheme* scheme = nullptr) const;
    void scrub_lists(std::span<std::byte> bytes, memory::Address address, Beyond* beyond) const;
    bool scrub_list_at(const Cells& cells) const;

    std::vector<std::string> texts_;
    std::vector<std::u32string> strings_;
    Group short_, long_;
    std::vector<bool> first_characters_;  // of strings_
    std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> string_starts_;
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> text_starts_;
    std::size_t longest_string_ = 0;  // characters
    std::size_t reach_ = 0;
};

}  // namespace beamdump::capture
