#include "beam/search/persistent_terms.h"

#include "beam/layout/struct_view.h"
#include "beam/layout/term_bits.h"
#include "beam/search/candidates.h"
#include "beam/vm/steady_read.h"

#include <libdump/base/return_if_error.h>

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

struct Shape {
    Address table = 0;
    std::uint64_t slots = 0, count = 0;
};

/// What a table at an address says of itself; nothing if none can be there.
std::optional<Shape> shape_of(Vm& vm, const PersistentFields& fields, Address table) {
    if (!vm.plausible(table, fields.terms.offset + kFewestTerms * sizeof(Address))) {
        return std::nullopt;
    }
    const auto header = OwnedStruct::read(vm.memory(), table, fields.terms.offset);
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

bool has_pairs(Vm& vm, const PersistentFields& fields, const Shape& shape) {
    const auto [table, slots, count] = shape;
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

/// Whether the word at `at` points to a table. While the node runs, pages that were read earlier
/// may tell of terms that are freed by now: what looks like a table is read anew.
bool leads_to_table(Vm& vm, const PersistentFields& fields, Address at) {
    for (int tries = 0; tries < kPersistentTries; ++tries) {
        const auto table = vm.memory().word(at);
        const auto shape = table ? shape_of(vm, fields, *table) : std::nullopt;
        if (!shape) {
            return false;
        }
        if (has_pairs(vm, fields, *shape)) {
            return true;
        }
        vm.forget();
    }
    return false;
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
        candidates = search.matching(sizeof(Address), [&](Address at, std::span<const std::byte>) {
            return leads_to_table(vm, fields, at);
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
