#include "beam/search/persistent_terms.h"

#include "beam/layout/struct_view.h"
#include "beam/layout/term_bits.h"
#include "beam/search/candidates.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <bit>
#include <vector>

namespace beamdump::beam {
namespace {

// erl_bif_persistent.c: INITIAL_SIZE, and LOAD_FACTOR percent of the slots at most.
constexpr std::uint64_t kFewestTerms = 8;
constexpr std::uint64_t kMostTerms = std::uint64_t{1} << 32U;
constexpr std::uint64_t kTermsAtOnce = 4096;
constexpr int kPersistentTries = 4;  // the node runs

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
bool is_pair(Vm& vm, const PersistentFields& fields, std::uint64_t word) {
    const auto at = boxed_address(word);
    const auto& facts = vm.facts();
    if (!is_boxed(word) || at < facts.literals_start ||
        at - facts.literals_start >= facts.literals_bytes) {
        return false;
    }
    const auto header = vm.memory().word(at);
    return header && *header == fields.pair_header;
}

bool is_table(Vm& vm, const PersistentFields& fields, Address table) {
    if (!vm.plausible(table, fields.terms.offset + kFewestTerms * sizeof(Address))) {
        return false;
    }
    const auto header = OwnedStruct::read(vm.memory(), table, fields.terms.offset);
    if (!header) {
        return false;
    }
    const auto slots = header->view().get(fields.allocated);
    const auto count = header->view().get(fields.count);
    if (!std::has_single_bit(slots) || slots < kFewestTerms || slots > kMostTerms ||
        header->view().get(fields.mask) != slots - 1 || count > slots ||
        !vm.plausible(table + fields.terms.offset, slots * sizeof(Address))) {
        return false;
    }
    std::uint64_t pairs = 0;
    for (std::uint64_t first = 0; first < slots; first += kTermsAtOnce) {
        const auto words =
            read_words(vm.memory(), table + fields.terms.offset + first * sizeof(Address),
                       std::min(kTermsAtOnce, slots - first));
        if (!words) {
            return false;
        }
        for (const auto word : *words) {
            if (word == fields.nil) {
                continue;
            }
            if (!is_pair(vm, fields, word)) {
                return false;
            }
            ++pairs;
        }
    }
    return pairs + 1 >= count && count + 1 >= pairs && (pairs != 0 || count == 0);
}

}  // namespace

Result<Address> find_persistent_terms(Vm& vm, const ImageSearch& search) {
    LayoutNames names(vm.layout());
    const PersistentFields fields(names);
    RETURN_IF_ERROR(names.outcome());
    std::vector<Address> candidates;
    for (int tries = 0; candidates.size() != 1 && tries < kPersistentTries; ++tries) {
        vm.forget();
        candidates = search.matching(sizeof(Address), [&](Address at, std::span<const std::byte>) {
            const auto table = vm.memory().word(at);  // it may be another one by now
            return table && *table % sizeof(Address) == 0 && is_table(vm, fields, *table);
        });
        // ErtsThrPrgrLaterOp (erl_thr_progress.h): a function and its argument.
        std::erase_if(candidates, [&](Address at) {
            const auto before = vm.memory().word(at - sizeof(Address));
            return before && is_code(vm, *before);
        });
    }
    return only_one("the_hash_table", "one pointer to a table of pairs among the literals",
                    candidates);
}

}  // namespace beamdump::beam
