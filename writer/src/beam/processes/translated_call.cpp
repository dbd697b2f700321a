#include "beam/processes/translated_call.h"

#include "beam/layout/term_bits.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <bit>

namespace beamdump::beam {
namespace {

/// More entries in one slot than a hash table that grows has.
constexpr int kLongestChain = 64;
constexpr std::uint64_t kLargestArity = 255;
constexpr unsigned kTupleArityShift = 6;  // erl_term.h: a tuple's header ends in six zero bits
constexpr unsigned kSmallShift = 4;
constexpr std::uint64_t kSmallMask = 15;

}  // namespace

Result<TranslatedCalls> TranslatedCalls::open(Vm& vm, std::optional<std::uint32_t> key_atom) {
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(auto small_tag, vm.layout().constant("small_tag"));
    TranslatedCalls calls(vm, atoms);
    calls.key_ = key_atom;
    calls.small_tag_ = small_tag;
    return calls;
}

/// erl_process_dict.c, pd_hash_value_to_ix(): an atom's hash is its index. The table grows slot by
/// slot, so that of twice as many slots as the last power of two only the first are in use.
std::uint64_t TranslatedCalls::slot(std::uint64_t slots) const {
    const auto half = std::bit_floor(slots);
    const auto high = *key_ & (2 * half - 1);
    return high < slots ? high : *key_ & (half - 1);
}

template <std::size_t Arity>
std::optional<std::array<std::uint64_t, Arity>> TranslatedCalls::tuple(std::uint64_t word) const {
    std::array<std::uint64_t, Arity + 1> words{};
    if (!is_boxed(word) ||
        !vm_->memory().read(boxed_address(word), std::as_writable_bytes(std::span(words))) ||
        words[0] != Arity << kTupleArityShift) {
        return std::nullopt;
    }
    std::array<std::uint64_t, Arity> elements{};
    std::ranges::copy(std::span(words).subspan(1), elements.begin());
    return elements;
}

std::optional<std::uint64_t> TranslatedCalls::value_of(std::uint64_t word) const {
    const auto entry = tuple<2>(word);
    return entry && (*entry)[0] == atoms_.word(*key_) ? std::optional((*entry)[1]) : std::nullopt;
}

std::optional<records::Mfa> TranslatedCalls::function(std::uint64_t word) const {
    const auto mfa = tuple<3>(word);
    if (!mfa) {
        return std::nullopt;
    }
    const auto module = atoms_.index((*mfa)[0]);
    const auto name = atoms_.index((*mfa)[1]);
    const auto arity = (*mfa)[2];
    if (!module || !name || (arity & kSmallMask) != small_tag_ ||
        arity >> kSmallShift > kLargestArity) {
        return std::nullopt;
    }
    records::Mfa function;
    function.set_module_atom(*module);
    function.set_function_atom(*name);
    function.set_arity(static_cast<std::uint32_t>(arity >> kSmallShift));
    return function;
}

std::optional<records::Mfa> TranslatedCalls::of(const ProcessView& process) {
    const auto slots = process.dictionary.words();
    if (!key_ || slots == 0 || process.facts.sensitive()) {
        return std::nullopt;
    }
    auto word = vm_->memory().word(process.dictionary.begin + slot(slots) * sizeof(std::uint64_t));
    if (word && is_boxed(*word)) {
        const auto value = value_of(*word);
        return value ? function(*value) : std::nullopt;
    }
    for (int left = kLongestChain; left > 0 && word && (*word & kPrimaryMask) == kPrimaryList;
         --left) {
        std::array<std::uint64_t, 2> cell{};
        const auto address = boxed_address(*word);
        if (!vm_->memory().read(address, std::as_writable_bytes(std::span(cell)))) {
            return std::nullopt;
        }
        if (const auto value = value_of(cell[0])) {
            return function(*value);
        }
        word = cell[1];
    }
    return std::nullopt;
}

}  // namespace beamdump::beam
