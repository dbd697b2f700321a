#pragma once

#include <libdump/redact/address_ranges.h>
#include <libdump/redact/kept_terms.h>
#include <libdump/redact/moved_headers.h>
#include <libdump/redact/policy.h>
#include <libdump/term/term_scheme.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace beamdump::redact {

/// What the words of a region are.
enum class WordLayout : std::uint8_t {
    kObjects,  ///< boxed objects and cells, one after the other
    kTerms,    ///< a term each
    kStack,    ///< terms and return addresses
    kRow,      ///< of an ETS table: a tuple, then objects, or the bytes of a compressed row
    kBlank,    ///< not known: all are overwritten
    /// Objects of which a collection has moved some: as kObjects where moved() is known, else as
    /// kBlank.
    kCollected,
};

/// Overwrites the values in a region's words, in one pass from its first word to its last, without
/// following a pointer. Headers, arities, sizes, offsets, identities of processes, ports and
/// references, indexes of atoms and pointers stay. Any other word is overwritten and
/// counted, whatever it is.
class WordPass {
  public:
    /// `ranges` and `kept`, which may be null, must outlive the pass.
    WordPass(const TagScheme& scheme, Level level, const AddressRanges& ranges,
             const KeptTerms* kept = nullptr)
        : scheme_(scheme), level_(level), ranges_(&ranges), kept_(kept) {}

    /// Begins a region of `words` words.
    void start(WordLayout layout, std::uint64_t words);
    /// Where the region's next word is. Before it is said, nothing is kept by its address.
    void at(std::uint64_t address) { address_ = address; }
    /// Tells of the objects that were moved; null: it is not known which. It is asked by the words'
    /// addresses.
    void moved(MovedHeaders* headers) { moved_ = headers; }
    /// The region's next words, eight bytes each. Bytes after the last whole word are zeroed.
    void run(std::span<std::byte> words);

    /// Where a pass is between two words, to continue there in another region.
    struct Place {
        std::uint64_t left = 0;                ///< words of the region after the current one
        BoxedKind kind = BoxedKind::kUnknown;  ///< of the object of the current word, if any
        std::uint64_t header = 0;              ///< of that object
        std::uint64_t at = 0;                  ///< index of the current word in it
        std::uint64_t words = 0;               ///< of it, as far as known
        bool operator==(const Place&) const = default;
    };
    [[nodiscard]] const Place& place() const { return place_; }
    /// Continues with objects.
    void resume(const Place& place) {
        start(WordLayout::kObjects, 0);
        place_ = place;
    }

    /// A term that stands alone.
    [[nodiscard]] std::uint64_t term(std::uint64_t word);

    /// Words that could not be read as the scheme's, so far.
    [[nodiscard]] std::uint64_t blanked() const { return blanked_; }

  private:
    enum class Where : std::uint8_t { kElement, kCell };

    std::uint64_t next(std::uint64_t word);
    std::uint64_t begin_object(std::uint64_t header);
    bool begin_moved(std::uint64_t pointer);
    std::uint64_t inside(std::uint64_t word);
    std::uint64_t inside_fun(std::uint64_t word);
    std::uint64_t inside_row(std::uint64_t word);
    std::uint64_t sized(std::uint64_t word, std::uint64_t body_words, std::uint64_t impossible);
    std::uint64_t stack_word(std::uint64_t word);
    std::uint64_t term_at(std::uint64_t word, Where where);
    std::uint64_t element(std::uint64_t word) { return term_at(word, Where::kElement); }
    std::uint64_t small(std::uint64_t word, Where where) const;
    std::uint64_t identifier(std::uint64_t word, unsigned bits);
    std::uint64_t raw(std::uint64_t word);
    [[nodiscard]] bool is_kept(std::uint64_t word) const {
        return kept_ != nullptr && address_ != 0 && kept_->has_word(address_, word);
    }
    [[nodiscard]] std::uint64_t text(std::uint64_t word) const;
    std::uint64_t blank(std::uint64_t with);
    void end_object() { place_.kind = BoxedKind::kUnknown; }

    TagScheme scheme_;
    Level level_;
    const AddressRanges* ranges_;
    const KeptTerms* kept_;
    MovedHeaders* moved_ = nullptr;
    std::uint64_t address_ = 0;  ///< of the current word; 0: not known
    std::uint64_t blanked_ = 0;

    WordLayout layout_ = WordLayout::kBlank;
    std::uint64_t total_ = 0;  ///< words of the region
    Place place_;
    // The state of the row at hand.
    bool row_begun_ = false;
    bool compressed_ = false;
    bool size_passed_ = false;
};

}  // namespace beamdump::redact
