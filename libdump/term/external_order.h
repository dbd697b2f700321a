#pragma once

#include <libdump/term/external_atoms.h>
#include <libdump/term/external_item.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace beamdump {

/// Compares terms in external format by Erlang's term order as used for map keys (utils.c,
/// erts_cmp() with exact: integers before floats; OTP 29.1.1, whose records earlier releases lack).
/// Not recursive.
class ExternalOrder {
  public:
    /// Both must outlive it.
    ExternalOrder(ExternalReader& reader, ExternalAtoms& atoms)
        : reader_(&reader), atoms_(&atoms) {}

    /// Negative, 0 or positive as the term at `left` is less than, equal to or greater than that at
    /// `right`. nullopt if unknown: funs and maps that differ at most in their contents, unknown
    /// atoms, malformed terms, or `budget` (items and bytes, reduced by those read) used up.
    std::optional<int> compare(std::uint64_t left, std::uint64_t right, std::uint64_t& budget);

    /// Compares two terms as compare() does, except that terms that are atoms compare by their
    /// index in the atom table. Atoms not in the table come last, by position: the VM would add
    /// them in that order when it decodes the term.
    std::optional<int> compare_keys(std::uint64_t left, std::uint64_t right, std::uint64_t& budget);

  private:
    struct Side {
        std::uint64_t at = 0;     ///< of the next term
        std::uint64_t left = 0;   ///< of a list, elements before its tail
        bool characters = false;  ///< those are bytes of a string
    };
    struct Frame {
        std::uint64_t terms = 0;  ///< pairs of terms to compare one after the other
        bool list = false;
        Side left = {};  ///< of a list
        Side right = {};
    };
    enum class Step : std::uint8_t { kEqual, kDiffers, kUnknown };

    Step step();
    Step list_step(Frame& frame);
    /// What comes next in a list: an element, or the tail.
    struct Next {
        ExternalItem item;
        bool element = false;
    };
    std::optional<Next> next_of(Side& side, std::uint64_t& at);
    Step items(const ExternalItem& left, const ExternalItem& right);
    Step same_kind(const ExternalItem& left, const ExternalItem& right);
    Step integers(const ExternalItem& left, const ExternalItem& right);
    Step atoms(const ExternalAtom& left, const ExternalAtom& right);
    Step nodes(const ExternalItem& left, const ExternalItem& right);
    Step references(const ExternalItem& left, const ExternalItem& right);
    Step records(const ExternalItem& left, const ExternalItem& right);
    Step binaries(const ExternalItem& left, const ExternalItem& right);
    Step numbers(std::uint64_t left, std::uint64_t right);
    Step differ(int by);
    bool charge(std::uint64_t amount);

    ExternalReader* reader_;
    ExternalAtoms* atoms_;
    std::vector<Frame> frames_;
    std::uint64_t left_ = 0;
    std::uint64_t right_ = 0;
    std::uint64_t budget_ = 0;
    int difference_ = 0;
};

}  // namespace beamdump
