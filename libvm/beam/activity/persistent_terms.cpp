#include <libdump/base/return_if_error.h>
#include <libdump/term/term_scheme.h>
#include <libvm/beam/activity/persistent_terms.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/struct_view.h>
#include <libvm/beam/layout/term_bits.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMostTerms = std::uint64_t{1} << 32U;
constexpr std::uint64_t kTermsAtOnce = 4096;
constexpr std::uint64_t kPairWords = 3;
constexpr std::uint64_t kFirstWords = 1024;  // of a term that is too large
constexpr int kTermTries = 4;

bool has_died(const Error& error) {
    return error.code == ErrorCode::kTargetDied;
}

}  // namespace

PersistentTermReader::PersistentTermReader(Vm& vm, Address table_at, LayoutNames& names)
    : vm_(&vm),
      table_at_(table_at),
      allocated_(names.field(runtime::PersistentTerms::allocated)),
      count_(names.field(runtime::PersistentTerms::num_entries)),
      mask_(names.field(runtime::PersistentTerms::mask)),
      first_(names.field(runtime::PersistentTerms::term)),
      area_off_heap_(names.field(runtime::PersistentTermArea::off_heap)),
      area_end_(names.field(runtime::PersistentTermArea::end)),
      area_start_(names.field(runtime::PersistentTermArea::start)),
      area_bytes_(names.bytes(runtime::PersistentTermArea::kName)),
      nil_(names.constant(runtime::constant::nil)),
      pair_header_((kPairWords - 1) << names.constant(runtime::constant::header_arity_shift)) {}

Result<PersistentTermReader> PersistentTermReader::open(Vm& vm) {
    const auto& other = vm.tables().other;
    if (!other.persistent_terms) {
        return fail(ErrorCode::kAbsent, "the_hash_table was not found");
    }
    LayoutNames names(vm.layout());
    PersistentTermReader reader(vm, *other.persistent_terms, names);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

Result<void> PersistentTermReader::open_table() {
    vm_->forget();
    // The table may be where nothing was mapped before.
    RETURN_IF_ERROR(vm_->target().refresh_mappings());
    ASSIGN_OR_RETURN(table_, vm_->memory().word(table_at_));
    ASSIGN_OR_RETURN(const auto header, OwnedStruct::read(vm_->memory(), table_, first_.offset));
    size_ = header.view().get(allocated_);
    if (!std::has_single_bit(size_) || size_ > kMostTerms ||
        header.view().get(mask_) != size_ - 1 ||
        !vm_->plausible(table_ + first_.offset, size_ * kWordBytes)) {
        return fail(
            ErrorCode::kImplausible,
            fmt::format("the table of persistent terms at {:#x}: expected a power of two of "
                        "slots and its mask, found {} and {:#x}",
                        table_, size_, header.view().get(mask_)));
    }
    return {};
}

Result<bool> PersistentTermReader::is_replaced() {
    ASSIGN_OR_RETURN(const auto now, vm_->bulk().word(table_at_));
    return now != table_;
}

Result<PersistentTermReader::Counts> PersistentTermReader::read(const Request& request,
                                                                const Visit& visit) {
    RETURN_IF_ERROR(read_steadily(request.moving, *vm_, [this] { return open_table(); }));
    Counts counts;
    counts.table_bytes = first_.offset + size_ * kWordBytes;
    RETURN_IF_ERROR(slots(request, visit, counts));
    if (!counts.replaced && !counts.stopped) {
        const auto counted = vm_->bulk().word(table_ + count_.offset);
        ASSIGN_OR_RETURN(counts.replaced, is_replaced());
        // The memory of a table that is gone now may have been another's by then.
        if (!counts.replaced) {
            RETURN_IF_ERROR(counted);
            counts.counted = *counted;
        }
    }
    return counts;
}

Result<void> PersistentTermReader::slots(const Request& request, const Visit& visit,
                                         Counts& counts) {
    for (std::uint64_t first = 0; first < size_; first += kTermsAtOnce) {
        const auto at = table_ + first_.offset + first * kWordBytes;
        const auto words = read_words(vm_->bulk(), at, std::min(kTermsAtOnce, size_ - first));
        ASSIGN_OR_RETURN(counts.replaced, is_replaced());
        if (counts.replaced) {
            return {};
        }
        if (!words) {
            return std::unexpected(words.error());
        }
        for (std::size_t index = 0; index < words->size(); ++index) {
            ASSIGN_OR_RETURN(const auto outcome,
                             slot(at + index * kWordBytes, (*words)[index], request, visit));
            counts.terms += outcome == Outcome::kTaken ? 1 : 0;
            counts.unreadable += outcome == Outcome::kUnreadable ? 1 : 0;
            if (outcome == Outcome::kChanged || outcome == Outcome::kUnreadable) {
                ASSIGN_OR_RETURN(counts.replaced, is_replaced());
                if (counts.replaced) {
                    return {};
                }
                counts.changed += outcome == Outcome::kChanged ? 1 : 0;
            }
            if (outcome != Outcome::kEmpty) {
                ASSIGN_OR_RETURN(const auto go_on, request.go_on());
                if (!go_on) {
                    counts.stopped = true;
                    return {};
                }
            }
        }
    }
    return {};
}

Result<PersistentTermReader::Outcome> PersistentTermReader::slot(Address at, std::uint64_t word,
                                                                 const Request& request,
                                                                 const Visit& visit) {
    for (int tries = 0; tries < kTermTries; ++tries) {
        if (tries > 0) {
            const auto now = vm_->bulk().word(at);
            if (!now) {
                return has_died(now.error()) ? Result<Outcome>(std::unexpected(now.error()))
                                             : Outcome::kUnreadable;
            }
            word = *now;
        }
        if (word == nil_) {
            return Outcome::kEmpty;
        }
        ASSIGN_OR_RETURN(const auto outcome, term(at, word, request, visit));
        if (outcome == Outcome::kTaken || !request.moving()) {
            return outcome;
        }
    }
    const auto now = vm_->bulk().word(at);
    return now && *now != word ? Outcome::kChanged : Outcome::kUnreadable;
}

Result<PersistentTermReader::Outcome> PersistentTermReader::term(Address at, std::uint64_t word,
                                                                 const Request& request,
                                                                 const Visit& visit) {
    const auto tuple = boxed_address(word);
    const auto& facts = vm_->facts();
    if (!is_boxed(word) || tuple < facts.literals_start + area_start_.offset ||
        tuple - facts.literals_start >= facts.literals_bytes) {
        return Outcome::kUnreadable;
    }
    const auto area_at = tuple - area_start_.offset;
    const auto area = OwnedStruct::read(vm_->bulk(), area_at, area_bytes_);
    if (!area) {
        return has_died(area.error()) ? Result<Outcome>(std::unexpected(area.error()))
                                      : Outcome::kUnreadable;
    }
    const auto end = area->view().get(area_end_);
    const auto off_heap = area->view().get(area_off_heap_);
    if (end < tuple + kPairWords * kWordBytes || (end - tuple) % kWordBytes != 0 ||
        end > facts.literals_start + facts.literals_bytes) {
        return Outcome::kUnreadable;
    }
    Term term;
    term.words = (end - tuple) / kWordBytes;
    const bool whole = term.words * kWordBytes <= vm_->sizes().row_bytes;
    const auto taken = whole ? term.words : kFirstWords;
    const EtsQuiet quiet{[] { return Result<bool>(true); }, [] { return Result<bool>(true); }};
    EtsGroupReader::How how;
    how.moving = request.moving();
    how.validate = request.validate;
    how.quiet = &quiet;
    EtsGroup group;
    group.links = {{table_at_, kWordBytes, table_},
                   {area_at + area_end_.offset, kWordBytes, end},
                   {area_at + area_off_heap_.offset, kWordBytes, off_heap}};
    EtsRowPlace place;
    place.address = tuple;
    place.bytes = static_cast<std::uint32_t>(taken * kWordBytes);
    place.lead = {at, kWordBytes, word};
    group.rows.push_back(place);
    ASSIGN_OR_RETURN(auto reader, EtsGroupReader::open(*vm_));
    ASSIGN_OR_RETURN(const auto outcome, reader.read(group, how));
    if (outcome != EtsGroupReader::Outcome::kRead) {
        return outcome == EtsGroupReader::Outcome::kChanged ? Outcome::kChanged
                                                            : Outcome::kUnreadable;
    }
    const auto words = reader.row(0);
    if (StructView(words).word({}, 0) != pair_header_) {
        return Outcome::kUnreadable;
    }
    if (!how.moving && request.moving()) {
        return Outcome::kChanged;  // the stop ended meanwhile: it is read as of a running node
    }
    term.row = {tuple, request.words ? words : words.first(0), whole ? off_heap : 0};
    // A second reader, so that the words at hand stay as they are.
    const auto same = [&]() -> Result<bool> {
        if (!request.moving() || !request.validate) {
            return true;
        }
        auto later = how;
        later.moving = true;
        ASSIGN_OR_RETURN(auto second, EtsGroupReader::open(*vm_));
        ASSIGN_OR_RETURN(const auto again, second.read(group, later));
        return again == EtsGroupReader::Outcome::kRead && std::ranges::equal(second.row(0), words);
    };
    ASSIGN_OR_RETURN(const auto kept, visit(term, same));
    return kept ? Outcome::kTaken : Outcome::kChanged;
}

}  // namespace beamdump::beam
