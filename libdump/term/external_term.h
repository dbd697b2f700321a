#pragma once

#include <libdump/term/external_atoms.h>
#include <libdump/term/external_item.h>
#include <libdump/term/external_order.h>
#include <libdump/term/term_dialect.h>
#include <libdump/term/term_printer.h>
#include <libdump/term/term_scheme.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace beamdump {

/// A term in external format and how it is to be read. Non-owning.
struct ExternalTerm {
    ExternalSource* source = nullptr;
    std::span<const std::uint32_t> cached_atoms = {};  ///< cache reference n is this atom
    bool version_byte = false;  ///< 131 comes first, as term_to_binary/1 has it
};

/// Prints terms in external format as TermPrinter prints what the VM makes of them (external.c,
/// erl_printf_term.c, OTP 25.2.3, 27.3.4 and 29.1.1), in pieces of any size. Byte for byte the
/// same, but for:
///
///  - a map of more than 32 keys: the VM shows the nodes that it keeps such a map in, or its pairs
///    in their order, and the format has none. Printed as #{K=>V,...}, in the order of the message;
///  - a map of 32 keys at most, whose keys the VM sorts: by Erlang's order, or from OTP 26 on atoms
///    by their place in the atom table. So does this, unless the order cannot be told (keys that
///    are funs or maps) or looking ahead would cost too much (maps nested beyond some 60 levels).
///    They are in the order of the message then. Atoms that the table lacks get their places when
///    they are decoded: taken here for later than all others, in the order of the message;
///  - a native record, whose keys the VM sorts the same way. Where looking ahead fails, also
///  because
///    the dump lacks its end, the fields stand as they were declared;
///  - what the VM would refuse. It drops such a message. Here #Malformed<byte N of M> is in its
///    place, #Absent<byte N of M> for what the dump lacks, and open brackets are closed.
///    #Absent<atom N> is an atom cache reference whose meaning the dump lacks.
///
/// Memory: about 80 KB, 24 bytes a level of nesting, 512 a level of maps that had to be sorted
/// (with records, 16 MB of these at most), and the digits of one big integer. Nothing recurses. Not
/// thread-safe.
class ExternalTermPrinter {
  public:
    /// `names` must outlive the printer. `scheme`: of the node that received the terms.
    ExternalTermPrinter(ExternalNames& names, const TagScheme& scheme);
    ExternalTermPrinter(const ExternalTermPrinter&) = delete;
    ExternalTermPrinter& operator=(const ExternalTermPrinter&) = delete;
    ~ExternalTermPrinter() = default;

    /// Begins a term, whose source and atoms must stay until it is done or the next one begins.
    void start(const ExternalTerm& term);
    /// As those of TermPrinter.
    void note_marks() { buffer_.note_marks(); }
    void take_marks(std::vector<PlacedMark>& out) { buffer_.take_marks(out); }

    /// Appends at most `max_bytes` of the text to `out` and gives how many; 0 only when done (or
    /// for max_bytes 0).
    std::size_t next(std::size_t max_bytes, std::string& out);

    [[nodiscard]] bool done() const { return finished_ && buffer_.size() == 0; }
    /// Counted over all terms of the printer.
    [[nodiscard]] const PrintStatistics& statistics() const { return statistics_; }

  private:
    enum class FrameKind : std::uint8_t {
        kTuple,
        kList,       ///< left: elements before the tail
        kTail,       ///< the end of an improper list
        kMap,        ///< left: keys and values
        kSortedMap,  ///< left: the same, of a record, too; their positions are in sorted_
        kRecord,     ///< left: keys and values; key: position of the next key
        kBinary,     ///< left: whole bytes; content in binary_
    };
    struct Frame {
        std::uint64_t left = 0;
        std::uint64_t key = 0;
        FrameKind kind = FrameKind::kTuple;
        bool begun = false;
        bool characters = false;  ///< of a list: its elements are the bytes of a string
        bool quoted = false;      ///< of a list: printed as a string; of a binary, too
        bool record = false;      ///< of a sorted map: it is a record
        bool keyword = false;     ///< of a list or map: `key: value`
        bool structure = false;   ///< of a map: hides the struct's own fields
        bool named = false;       ///< of a tuple: open_records_ has the names of its fields
    };
    struct BinaryRest {
        std::uint64_t at = 0;
        unsigned bits = 0;  ///< after the whole bytes
    };

    /// What Elixir's printing of a map depends on.
    struct MapShape {
        bool keyword = false;
        std::string structure;  ///< the struct's name; empty: it is none
    };

    void step();
    void step_parts(Frame& frame);
    void step_list(Frame& frame);
    bool next_element(Frame& frame);
    void step_map(Frame& frame);
    void step_record(Frame& frame);
    void step_binary(Frame& frame);
    void put_octets(Frame& frame, std::span<const std::uint8_t> octets);
    void end_binary(bool comma);
    void close();

    void print();
    void print(const ExternalItem& item);
    void print_big(const ExternalItem& item);
    void print_atom(const ExternalAtom& atom, bool elixir);
    bool print_named_tuple(const ExternalItem& item);
    void print_key(const Frame& frame);
    bool hides_next();
    bool print_keyword_pair();
    bool is_keyword_list(const ExternalItem& first);
    bool is_keyword_pair(std::uint64_t at, std::uint64_t& next);
    MapShape map_shape(const ExternalItem& item);
    void print_channel(const ExternalAtom& node);
    void print_identifier(const ExternalItem& item);
    void print_fun_name(const ExternalItem& item);
    void print_fun(const ExternalItem& item);
    [[nodiscard]] bool is_in_string(std::uint64_t character) const;
    void print_map(const ExternalItem& item);
    void print_record(const ExternalItem& item);
    void print_binary(const ExternalItem& item);
    bool is_printable_string(const ExternalItem& first);
    bool is_printable_binary(const ExternalItem& item);
    void put_string_character(char character);
    bool find_parts(const ExternalItem& item, std::vector<std::uint64_t>& positions);
    bool pass_keys(const ExternalItem& record, std::uint64_t& at);
    std::vector<std::uint64_t> sorted_fields(const std::vector<std::uint64_t>& parts);
    void push_sorted(const std::vector<std::uint64_t>& positions, std::uint64_t end, Frame frame);
    bool sort_pairs(std::vector<std::uint64_t>& positions);
    void mark(ExternalStatus status, std::uint64_t at);
    /// Marks the place behind which nothing is known any more: what is open is closed.
    void fail(ExternalStatus status, std::uint64_t at);

    ExternalReader reader_;
    ExternalAtoms atoms_;
    ExternalOrder order_;
    TermStyle style_;
    std::vector<const std::vector<std::string>*> open_records_;
    DialectBuffer buffer_;
    const TermDialect* dialect_;  ///< that of buffer_
    std::vector<Frame> frames_;
    std::vector<std::uint64_t> sorted_;  ///< of open sorted maps and records, next position last
    BinaryRest binary_;
    std::uint64_t at_ = 0;
    bool atom_keys_by_index_ = false;
    std::uint64_t look_ahead_ = 0;  ///< items and bytes that may still be examined in advance
    bool version_byte_ = false;
    bool root_pending_ = false;
    bool failed_ = false;
    bool finished_ = true;
    PrintStatistics statistics_;
};

}  // namespace beamdump
