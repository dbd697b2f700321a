#include <libdump/base/return_if_error.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/term_bits.h>
#include <libvm/beam/search/candidates.h>
#include <libvm/beam/search/persistent_terms.h>
#include <libvm/beam/vm/steady_read.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <thread>
#include <vector>

namespace beamdump::beam {
namespace {

// erl_bif_persistent.c: INITIAL_SIZE, and LOAD_FACTOR percent of the slots at most.
constexpr std::uint64_t kFewestTerms = 8;
constexpr std::uint64_t kMostTerms = std::uint64_t{1} << 32U;
constexpr std::uint64_t kTermsAtOnce = 4096;
constexpr int kPersistentTries = 8;  // the node runs

struct PersistentFields {
    explicit PersistentFields(LayoutNames& names)
        : allocated(names.field("PersistentTerms", "allocated")),
          count(names.field("PersistentTerms", "num_entries")),
          mask(names.field("PersistentTerms", "mask")),
          terms(names.field("PersistentTerms", "term")),
          nil(names.constant("nil")),
          pair_header(std::uint64_t{2} << names.constant("header_arity_shift")) {}
    Field allocated, count, mask, terms;
    std::uint64_t nil, pair_header;
};

/// Whether a slot's word is a tuple of two among the literals.
bool is_pair(Vm& vm, memory::MemorySource& memory, const PersistentFields& fields,
             std::uint64_t word) {
    const auto at = boxed_address(word);
    const auto& facts = vm.facts();
    if (!is_boxed(word) || at < facts.literals_start ||
        at - facts.literals_start >= facts.literals_bytes) {
        return false;
    }
    const auto header = memory.word(at);
    return header && *header == fields.pair_header;
}

struct Shape {
    Address table = 0;
    std::uint64_t slots = 0, count = 0;
};

/// What a table at an address says of itself; nothing if none can be there.
std::optional<Shape> shape_of(Vm& vm, memory::MemorySource& memory, const PersistentFields& fields,
                              Address table) {
    if (!vm.plausible(table, fields.terms.offset + kFewestTerms * sizeof(Address))) {
        return std::nullopt;
    }
    const auto header = OwnedStruct::read(memory, table, fields.terms.offset);
    if (!header) {
        return std::nullopt;
    }
    const auto slots = header->view().get(fields.allocated);
    const auto count = header->view().get(fields.count);
    if (!std::has_single_bit(slots) || slots < kFewestTerms || slots > kMostTerms ||
        header->view().get(fields.mask) != slots - 1 || count > slots ||
        !vm.plausible(table + fields.terms.offset, slots * sizeof(Address))) {
        return std::nullopt;
    }
    return Shape{table, slots, count};
}

/// Whether what is in a slot fits: nothing, or a pair. A term may be replaced in its slot: only a
/// word that does not fit twice is something else.
bool slot_fits(Vm& vm, const PersistentFields& fields, Address slot, std::uint64_t word) {
    if (word == fields.nil || is_pair(vm, vm.memory(), fields, word)) {
        return true;
    }
    for (int tries = 0; tries < kPersistentTries; ++tries) {
        const auto now = vm.bulk().word(slot);
        if (!now) {
            return false;
        }
        if (*now == fields.nil || is_pair(vm, vm.bulk(), fields, *now)) {
            return true;
        }
        if (*now == word) {
            return false;
        }
        word = *now;
    }
    return false;
}

bool has_pairs(Vm& vm, const PersistentFields& fields, const Shape& shape) {
    const auto [table, slots, count] = shape;
    std::uint64_t pairs = 0;
    for (std::uint64_t first = 0; first < slots; first += kTermsAtOnce) {
        const auto at = table + fields.terms.offset + first * sizeof(Address);
        const auto words = read_words(vm.bulk(), at, std::min(kTermsAtOnce, slots - first));
        if (!words) {
            return false;
        }
        for (std::size_t index = 0; index < words->size(); ++index) {
            if (!slot_fits(vm, fields, at + index * sizeof(Address), (*words)[index])) {
                return false;
            }
            pairs += (*words)[index] == fields.nil ? 0 : 1;
        }
    }
    return pairs + 1 >= count && count + 1 >= pairs && (pairs != 0 || count == 0);
}

/// Whether the word at `at` points to a table. A table is replaced when a term is put: what is no
/// table is another word's, or nothing, only if the word still points there afterwards.
bool leads_to_table(Vm& vm, const PersistentFields& fields, Address at) {
    std::optional<Address> before;
    for (int tries = 0; tries < kPersistentTries; ++tries) {
        const auto table = vm.bulk().word(at);
        if (!table) {
            return false;
        }
        const auto shape = shape_of(vm, vm.bulk(), fields, *table);
        if (shape && has_pairs(vm, fields, *shape)) {
            return true;
        }
        // Two terms may be put into the same table before it is counted.
        if (before == *table) {
            return false;
        }
        before = *table;
        if (shape) {
            vm.forget();
        }
    }
    return false;
}

/// The words of the image's data that point to tables now. A table that no word of the copy leads
/// to any more was replaced meanwhile: then the word is another one in a newer copy.
Result<std::vector<Address>> words_to_tables(Vm& vm, const PersistentFields& fields,
                                             const ImageSearch& search) {
    const auto leads_now = [&](Address at) {
        // ErtsThrPrgrLaterOp (erl_thr_progress.h): a function and its argument.
        const auto before = vm.bulk().word(at - sizeof(Address));
        return leads_to_table(vm, fields, at) && !(before && is_code(vm, *before));
    };
    auto found = search.matching(sizeof(Address), [&](Address at, std::span<const std::byte> word) {
        return shape_of(vm, vm.memory(), fields, StructView(word).word({}, 0)) && leads_now(at);
    });
    if (!found.empty()) {
        return found;
    }
    ASSIGN_OR_RETURN(const auto newer, ImageSearch::read(vm.target()));
    return newer.matching(sizeof(Address), [&](Address at, std::span<const std::byte> word) {
        const auto before = search.at(at, sizeof(Address));
        return before && !std::ranges::equal(*before, word) && leads_now(at);
    });
}

}  // namespace

Result<Address> find_persistent_terms(Vm& vm, const ImageSearch& search) {
    LayoutNames names(vm.layout());
    const PersistentFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    std::vector<Address> candidates;
    for (int tries = 0; candidates.size() != 1 && tries < kPersistentTries; ++tries) {
        if (tries > 0) {
            std::this_thread::sleep_for(kBetweenTableTries);
        }
        // A table may be where nothing was mapped before.
        RETURN_IF_ERROR(vm.target().refresh_mappings());
        vm.forget();
        ASSIGN_OR_RETURN(candidates, words_to_tables(vm, fields, search));
        // Other words may point to a table that was replaced or is being made.
        for (int looks = 0; candidates.size() > 1 && looks < kPersistentTries; ++looks) {
            std::this_thread::sleep_for(kBetweenTableTries);
            vm.forget();
            std::erase_if(candidates, [&](Address at) { return !leads_to_table(vm, fields, at); });
        }
    }
    return only_one("the_hash_table", "one pointer to a table of pairs among the literals",
                    candidates);
}

}  // namespace beamdump::beam
