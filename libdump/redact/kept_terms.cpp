#include <libdump/redact/kept_terms.h>

#include <algorithm>
#include <bit>

namespace beamdump::redact {
namespace {

/// Indexes above are no atoms': far more than a node has.
constexpr std::uint64_t kMaxKeptAtom = std::uint64_t{1} << 26U;

/// The finalizer of MurmurHash3, which is a bijection.
constexpr std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ value >> 33U) * 0xFF51'AFD7'ED55'8CCD;
    value = (value ^ value >> 33U) * 0xC4CE'B9FE'1A85'EC53;
    return value ^ value >> 33U;
}

constexpr std::uint64_t hash_of(std::uint64_t address, std::uint64_t word) {
    return mixed(mixed(address) + std::rotl(word, 29));
}

void set(std::vector<bool>& bits, std::uint64_t index) {
    if (index >= kMaxKeptAtom) {
        return;
    }
    if (index >= bits.size()) {
        bits.resize(index + 1);
    }
    bits[index] = true;
}

bool is_set(const std::vector<bool>& bits, std::uint64_t index) {
    return index < bits.size() && bits[index];
}

}  // namespace

void KeptTerms::keep_word(std::uint64_t address, std::uint64_t word) {
    if (words_.size() == kMaxWords && !full_) {
        // Literals are met again from each process that refers to them.
        seal();
        full_ = words_.size() > kMaxWords / 8 * 7;
    }
    const auto hash = hash_of(address, word);
    if (!full_) {
        words_.push_back(hash);
    } else if (!std::ranges::binary_search(words_, hash)) {
        ++left_out_;
    }
}

void KeptTerms::keep_atom(std::uint64_t index) {
    set(atoms_, index);
}

void KeptTerms::hide_atom(std::uint64_t index) {
    set(hidden_, index);
}

void KeptTerms::seal() {
    std::ranges::sort(words_);
    const auto rest = std::ranges::unique(words_);
    words_.erase(rest.begin(), rest.end());
}

bool KeptTerms::has_word(std::uint64_t address, std::uint64_t word) const {
    return std::ranges::binary_search(words_, hash_of(address, word));
}

bool KeptTerms::has_atom(std::uint64_t index) const {
    return is_set(atoms_, index) && !hides_atom(index);
}

bool KeptTerms::hides_atom(std::uint64_t index) const {
    return is_set(hidden_, index);
}

}  // namespace beamdump::redact
