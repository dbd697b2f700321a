#pragma once

#include <libdump/crash/import/words/element_parser.h>
#include <libdump/format/text_counts.h>

#include <functional>
#include <optional>
#include <vector>

namespace beamdump::crash {

/// What could not be used of a section of heap lines.
struct HeapCounts {
    /// Limit for the list of left-out objects.
    static constexpr std::size_t kMaxListed = 4096;

    TextCounts lines;    ///< lines without an object
    TextCounts objects;  ///< those that were left out
    std::vector<LeftOut> left_out;

    void leave_out(const LeftOut& object);
    [[nodiscard]] TextCounts all() const;
};

/// Puts the objects of a section of heap lines, `ADDRESS:...` each (erl_process_dump.c, heap_dump
/// and dump_module_literals), into an image, as the words of the node's own term scheme. What the
/// VM does not print is invented: parts of a Binary refer to it through objects at addresses that
/// no node has, and a fun's environment is empty lists.
class HeapParser {
  public:
    /// Non-owning. `literals`: other objects that may be referred to, or `image` itself. `binary`:
    /// called with each Binary that is referred to; returns whether the dump has it. An object that
    /// overlaps another is left out and counted: the one that is too long, and all at an address
    /// with several, if the image has the beginnings of all; else the later one.
    enum class Starts : std::uint8_t { kUnknown, kKnown };
    HeapParser(const TextFormat& format, Names& names, WordImage& image, WordImage& literals,
               std::function<bool(std::uint64_t)> binary, Starts starts = Starts::kUnknown)
        : format_(format),
          names_(names),
          image_(image),
          literals_(literals),
          binary_(std::move(binary)),
          starts_(starts) {}

    /// Called now and then with the place in the text that was reached.
    using Reached = std::function<void(std::uint64_t)>;

    /// Reads to the end of `text`. Malformed lines are counted and skipped, as are the objects of
    /// lines with trailing text.
    Result<HeapCounts> read(TextCursor& text, const Reached& reached = {});

  private:
    static constexpr std::uint64_t kHeapWordBytes = WordImage::kWordBytes;
    enum class Outcome : std::uint8_t { kDone, kMalformed, kOverlap };
    using Parsed = Result<Outcome>;

    Parsed object(TextCursor& text, std::uint64_t at);
    Parsed whole(std::uint64_t at, std::span<const std::uint64_t> words);
    Result<bool> has_room(std::uint64_t at, std::uint64_t words);
    Parsed boxed(std::uint64_t at, std::span<const std::uint64_t> words);
    Parsed cell(TextCursor& text, std::uint64_t at);
    Parsed tuple(TextCursor& text, std::uint64_t at);
    Parsed floating(TextCursor& text, std::uint64_t at);
    Parsed big(TextCursor& text, std::uint64_t at);
    Parsed map(TextCursor& text, std::uint64_t at);
    Parsed flat_map(TextCursor& text, std::uint64_t at);
    Parsed binary(TextCursor& text, std::uint64_t at);
    std::optional<std::vector<std::uint8_t>> counted_bytes(TextCursor& text);
    Parsed heap_binary(TextCursor& text, std::uint64_t at);
    Parsed off_heap_binary(TextCursor& text, std::uint64_t at, bool sub);
    Parsed identifier(TextCursor& text, std::uint64_t at, bool pid);
    Parsed external(TextCursor& text, std::uint64_t at);
    Parsed elements(TextCursor& text, std::uint64_t object, std::uint64_t before,
                    std::uint64_t count);

    Result<void> reference_to(std::uint64_t at, std::uint64_t binary, std::uint64_t offset,
                              std::uint64_t bytes);
    Result<void> part_of(std::uint64_t at, std::uint64_t original, std::uint64_t offset,
                         std::uint64_t bytes);
    /// The address of an invented object that refers to a Binary.
    Result<std::uint64_t> holder_of(std::uint64_t binary);
    Result<void> put(std::uint64_t at, std::span<const std::uint64_t> words);
    Result<void> put_words(std::uint64_t at, std::span<const WordImage::Word> words);
    Result<void> settle_parts();

    /// A part of something that was not an object yet.
    struct Part {
        std::uint64_t at = 0;
        std::uint64_t original = 0;
        std::uint64_t binary = 0;  // the address as the text has it
    };

    const TextFormat& format_;
    Names& names_;
    WordImage& image_;
    WordImage& literals_;
    std::vector<Part> parts_;
    std::function<bool(std::uint64_t)> binary_;
    Starts starts_;
    std::uint64_t line_ = 0;  // begin of the current line
    std::vector<std::uint64_t> words_;
};

/// The address of a Binary's first byte, as in its record.
constexpr std::uint64_t binary_data_address(std::uint64_t binary) {
    constexpr std::uint64_t kBinaryHeaderBytes = 32;
    return binary + kBinaryHeaderBytes;
}

}  // namespace beamdump::crash
