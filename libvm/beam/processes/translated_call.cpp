#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/processes/translated_call.h>

#include <algorithm>
#include <bit>
#include <cstddef>

namespace beamdump::beam {
namespace {

/// More entries in one slot than a hash table that grows has.
constexpr int kLongestChain = 64;

/// erl_process_dict.c, pd_hash_value_to_ix(): an atom's hash is its index. The table grows slot by
/// slot, so that of twice as many slots as the last power of two only the first are in use.
std::uint64_t slot_of(std::uint32_t key_atom, std::uint64_t slots) {
    const auto half = std::bit_floor(slots);
    const auto high = key_atom & (2 * half - 1);
    return high < slots ? high : key_atom & (half - 1);
}

constexpr std::uint64_t kLargestArity = 255;
constexpr unsigned kSmallShift = 4;
constexpr std::uint64_t kSmallMask = 15;

}  // namespace

Result<DictionaryReader> DictionaryReader::open(Vm& vm) {
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(const auto nil, vm.layout().constant(runtime::constant::nil));
    return DictionaryReader(vm, atoms, nil);
}

DictionaryReader::Found DictionaryReader::find(const ProcessView& process,
                                               std::uint32_t key_atom) const {
    const auto slots = process.dictionary.words();
    if (process.facts.sensitive()) {
        return {};
    }
    if (slots == 0) {
        return {.whole = process.facts.has_dictionary_entries() &&
                         process.facts.dictionary_entries() == 0};
    }
    const auto slot = slot_of(key_atom, slots);
    // Whether the word is an entry that may be in this slot; `value` if it has the key.
    Found found;
    const auto read_entry = [&](std::uint64_t word) {
        const auto entry = tuple<2>(word);
        if (!entry) {
            return false;
        }
        const auto key = atoms_.index(entry->front());
        if (key == key_atom) {
            found.value = entry->back();
        }
        return !key || slot_of(*key, slots) == slot;
    };
    auto word = vm_->memory().word(process.dictionary.begin + slot * sizeof(std::uint64_t));
    if (word && is_boxed(*word)) {
        found.whole = read_entry(*word);
        return found;
    }
    bool belong = true;
    for (int left = kLongestChain;
         left > 0 && !found.value && word && (*word & kPrimaryMask) == kPrimaryList; --left) {
        std::array<std::uint64_t, 2> cell{};
        if (!vm_->memory().read(boxed_address(*word), std::as_writable_bytes(std::span(cell)))) {
            return {};
        }
        belong = read_entry(cell[0]) && belong;
        word = cell[1];
    }
    found.whole = belong && word && *word == nil_;
    return found;
}

std::optional<std::uint64_t> DictionaryReader::value(const ProcessView& process,
                                                     std::uint32_t key_atom) const {
    return find(process, key_atom).value;
}

bool DictionaryReader::lacks(const ProcessView& process,
                             std::optional<std::uint32_t> key_atom) const {
    const bool has_entries = process.dictionary.words() != 0;
    if (!key_atom && has_entries) {
        return false;
    }
    const auto found = find(process, key_atom.value_or(0));
    return found.whole && !found.value;
}

void DictionaryKeys::note(std::string_view text, std::uint32_t atom) {
    if (text == TranslatedCalls::kKey) {
        initial_call = atom;
    }
    const auto* const key = std::ranges::find(kNamingKeys, text);
    if (key != kNamingKeys.end()) {
        naming.at(static_cast<std::size_t>(key - kNamingKeys.begin())) = atom;
    }
}

Result<TranslatedCalls> TranslatedCalls::open(Vm& vm, std::optional<std::uint32_t> key_atom) {
    ASSIGN_OR_RETURN(auto atoms, AtomWords::resolve(vm.layout()));
    ASSIGN_OR_RETURN(auto small_tag, vm.layout().constant(runtime::constant::small_tag));
    ASSIGN_OR_RETURN(auto dictionaries, DictionaryReader::open(vm));
    TranslatedCalls calls(dictionaries, atoms);
    calls.key_ = key_atom;
    calls.small_tag_ = small_tag;
    return calls;
}

std::optional<records::Mfa> TranslatedCalls::function(std::uint64_t word) const {
    const auto mfa = dictionaries_.tuple<3>(word);
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

std::optional<records::Mfa> TranslatedCalls::of(const ProcessView& process) const {
    const auto value = key_ ? dictionaries_.value(process, *key_) : std::nullopt;
    return value ? function(*value) : std::nullopt;
}

}  // namespace beamdump::beam
