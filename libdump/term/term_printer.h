#pragma once

#include <libdump/term/atom_text.h>
#include <libdump/term/binary_content.h>
#include <libdump/term/record_names.h>
#include <libdump/term/term_context.h>
#include <libdump/term/term_dialect.h>
#include <libdump/term/term_scheme.h>
#include <libdump/term/word_reader.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump {

/// Placeholders in a printed text, counted over all terms of a printer.
struct PrintStatistics {
    std::uint64_t malformed = 0;         ///< #Unreadable<...> and #Cycle<...>
    std::uint64_t absent = 0;            ///< #Absent<...> and unknown channels ("?")
    std::uint64_t partial_binaries = 0;  ///< #Bin<...>
    std::uint64_t lost_binaries = 0;     ///< of these, with fewer bytes than were to be captured
};

/// The VM's own limit on one printed term: minus 1 for each term, character of a string and byte of
/// a binary, minus an atom's length. When it is used up the text ends with "... ".
inline constexpr std::int64_t kClassicTermLimit = 100'000;
inline constexpr std::int64_t kNoTermLimit = std::numeric_limits<std::int64_t>::max();

/// Prints one term after the other exactly as the VM does (erl_printf_term.c, OTP 25.2.3, 27.3.4
/// and 29.1.1: what process_info(P, backtrace) and erlang:display/1 show), in pieces of any size;
/// or as the scheme's style says: in Elixir's syntax (docs/terms.md has what differs from its
/// inspect/2), with names of records' fields.
///
/// What cannot be read is marked, counted, and never ends the program: #Unreadable<address> (no
/// such memory, or words that are not a valid term), #Absent<address> (not in this dump), #Bin<N
/// bytes, first M: <<...>>> (a binary whose bytes are not all here), #Cycle<address> (a torn heap).
///
/// Memory: about 0.6 MB, 24 to 48 bytes a level of nesting, and the digits of one big integer.
/// Nothing recurses. The context must outlive the printer and not change. Not thread-safe.
class TermPrinter {
  public:
    TermPrinter(TermContext& context, const TagScheme& scheme,
                std::int64_t term_limit = kNoTermLimit);

    /// Starts a term; the rest of the previous one is dropped.
    void start(std::uint64_t word);
    /// After start(): also notes the marks that its layout in lines needs (TermLayout).
    void note_marks() { buffer_.note_marks(); }
    void take_marks(std::vector<PlacedMark>& out) { buffer_.take_marks(out); }

    /// Appends at most `max_bytes` of the text to `out` and gives how many; 0 only when done (or
    /// for max_bytes 0).
    std::size_t next(std::size_t max_bytes, std::string& out);

    /// Drops cached words: the context may have other words at the same addresses from here on.
    void forget() { reader_.forget(); }

    [[nodiscard]] bool done() const { return finished_ && buffer_.size() == 0; }
    [[nodiscard]] const PrintStatistics& statistics() const { return statistics_; }
    [[nodiscard]] TermContext& context() const { return reader_.context(); }
    /// Shared with code that prints text around the terms (names of functions).
    [[nodiscard]] AtomTexts& atoms() { return atoms_; }

  private:
    enum class FrameKind : std::uint8_t {
        kArray,    ///< tuple or large map's node; count: slots left
        kList,     ///< position: cell; next: tortoise; count: cells so far
        kTail,     ///< the end of an improper list
        kMap,      ///< next: slot of the key or value that belongs to this one; count: pairs left
        kRecord,   ///< as kMap, with its fields
        kMapNode,  ///< a large map's node as pairs; next: cell of a pair; count: items left
        kString,   ///< position: cell
        kBinary,   ///< content in binary_
    };
    struct Frame {
        std::uint64_t position = 0;  ///< address of the slot being printed
        std::uint64_t next = 0;
        std::uint32_t count = 0;  ///< of a list's cells it may wrap: only powers of two matter
        FrameKind kind = FrameKind::kArray;
        bool begun : 1 = false;
        bool at_value : 1 = false;   ///< of a map's pair, the key is printed
        bool whole : 1 = false;      ///< of a large map's nodes, the root
        bool keyword : 1 = false;    ///< of a list or map: `key: value`
        bool structure : 1 = false;  ///< of a map: hides the struct's own fields
        bool printed : 1 = false;    ///< of a map: a pair was printed
        bool named : 1 = false;      ///< of a tuple: open_records_ has the names of its fields
    };
    static_assert(sizeof(Frame) == 24, "a million levels of nesting are meant to fit 24 MB");

    /// Bytes of a binary in one step: at most four bytes of text each ("255,"), so that a step
    /// stays within TextBuffer::kStepBytes.
    static constexpr std::size_t kBytesPerStep = 768;
    /// Limit of print_short_binary(): the largest binary that the VM keeps on a heap
    /// (ERL_ONHEAP_BIN_LIMIT).
    static constexpr std::size_t kShortBinaryBytes = 64;

    struct BinaryProgress {
        BinaryContent content;
        std::uint64_t at = 0;
        std::uint64_t end = 0;
        bool quoted = false;
        bool whole = true;
        std::array<std::uint8_t, kBytesPerStep> block{};
        std::uint64_t held_at = 0;  ///< position of what is in block
        std::size_t held = 0;
    };

    /// What Elixir's printing of a map depends on.
    struct MapShape {
        bool keyword = false;  ///< all keys are atoms that can be keys of a keyword list
        std::optional<std::uint64_t> structure;  ///< the atom of a struct's module
    };

    void step();
    void step_array(Frame& frame);
    bool next_slot(Frame& frame, std::uint64_t& word);
    [[nodiscard]] bool print_simple(std::uint64_t word);
    void step_list(Frame& frame);
    void step_map(Frame& frame);
    void step_map_node(Frame& frame);
    void print_map_item(std::uint64_t word);
    void print_map_key(const Frame& frame, std::uint64_t slot);
    [[nodiscard]] bool hides(std::uint64_t key_slot);
    void begin_pair(Frame& map);
    Frame& map_of_node();
    void print_record_atom(std::uint64_t index);
    bool look_at_key(std::uint64_t key, std::uint64_t value_slot, MapShape& shape);
    MapShape flat_map_shape(std::uint64_t keys, std::uint64_t values, std::uint64_t count);
    MapShape hash_map_shape(std::uint64_t address, std::uint64_t header);
    std::string map_opening(const MapShape& shape);
    void step_string(Frame& frame);
    void step_binary();
    void end_binary();

    void print(std::uint64_t word);
    void print_slot(std::uint64_t address);
    void print_header(std::uint64_t word);
    void print_list(std::uint64_t word);
    void print_boxed(std::uint64_t word);
    void print_atom(std::uint64_t index);
    void print_tuple(std::uint64_t address, std::uint64_t header);
    void print_flat_map(std::uint64_t address);
    void print_record(std::uint64_t address, std::uint64_t header);
    void print_hash_map(std::uint64_t address, std::uint64_t header, bool head);
    void print_binary(std::uint64_t address);
    /// Prints a short heap binary of plain text, as most are, in one step. False: it is another
    /// binary, and nothing was printed; print_binary() handles it.
    bool print_short_binary(std::uint64_t address, std::uint64_t header);
    void print_big(std::uint64_t address, std::uint64_t header, bool negative);
    void print_float(std::uint64_t address);
    void print_local_identifier(std::uint64_t word, bool pid);
    void print_reference(std::uint64_t address, std::uint64_t header);
    void print_external(std::uint64_t address, std::uint64_t header, BoxedKind kind);
    void print_resource_type(std::uint64_t magic_binary);
    void print_reference_numbers(std::span<const std::uint32_t> numbers);
    void print_channel(std::uint64_t node_address);
    void print_fun(std::uint64_t address);
    void print_elixir_fun(const FunInfo& fun);
    void print_export(std::uint64_t entry);
    void put_charged(std::uint64_t atom);

    bool push(const Frame& frame, std::string_view opening);
    void leave(std::string_view closing);
    void stop();
    void unreadable(std::uint64_t address, WordStatus status);
    void cycle(std::uint64_t address);
    bool read_words(std::uint64_t address, std::span<std::uint64_t> words);
    bool is_printable_string(std::uint64_t word);
    bool is_keyword_list(std::uint64_t word);
    bool is_keyword(std::uint64_t word, std::uint64_t& value);
    [[nodiscard]] bool print_element(const Frame& frame, std::uint64_t word);
    bool print_named_tuple(std::uint64_t address, std::uint64_t header);
    /// Prints whole bytes from binary_.at on: one step's share, or fewer at the end or at missing
    /// bytes.
    std::span<const std::uint8_t> binary_block();
    bool prints_quoted();
    void put_octets(std::span<const std::uint8_t> octets);
    void put_quoted(std::span<const std::uint8_t> octets);

    TagScheme scheme_;
    std::int64_t term_limit_;
    WordReader reader_;
    AtomTexts atoms_;
    DialectBuffer buffer_;
    const TermDialect* dialect_;  ///< that of buffer_
    std::vector<Frame> frames_;
    BinaryProgress binary_;
    std::vector<const std::vector<std::string>*> open_records_;
    std::uint64_t root_ = 0;
    std::int64_t budget_ = 0;
    bool root_pending_ = false;
    bool cut_ = false;  ///< the text was truncated with brackets open
    bool finished_ = true;
    PrintStatistics statistics_;
};

}  // namespace beamdump
