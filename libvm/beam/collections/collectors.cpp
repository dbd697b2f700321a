#include <libdump/base/return_if_error.h>
#include <libvm/beam/collections/collection.h>
#include <libvm/beam/collections/collectors.h>
#include <libvm/beam/layout/runtime_limits.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace beamdump::beam {
namespace {

/// From here on a collection runs on a dirty scheduler (erl_gc.c,
/// ERTS_POTENTIALLY_LONG_GC_HSIZE; OTP 25 to 29).
constexpr std::uint64_t kLargeWords = 128ULL * 1024;
/// Each is a read while the node stands still.
constexpr std::size_t kMostFragmentsInAStop = 4096;

}  // namespace

Result<Collectors> Collectors::open(Vm& vm) {
    ASSIGN_OR_RETURN(auto fragments, CollectedFragments::open(vm));
    ASSIGN_OR_RETURN(const auto scheme, term_scheme_of(vm));
    LayoutNames names(vm.layout());
    Collectors collectors(vm, std::move(fragments), scheme, names);
    // An inferred layout may lack them.
    const auto current = names.field_if_any(runtime::ErtsSchedulerData::current_process);
    if (current && names.has_structure(runtime::ErtsAlignedSchedulerData::kName)) {
        collectors.schedulers_ = {*current, names.bytes(runtime::ErtsAlignedSchedulerData::kName)};
    }
    collectors.gc_ = names.constant(runtime::constant::state_gc);
    collectors.running_ = names.constant(runtime::constant::state_running);
    collectors.called_for_ = names.constant(runtime::constant::state_running_sys) |
                             names.constant(runtime::constant::state_dirty_running_sys);
    RETURN_IF_ERROR(names.outcome());
    return collectors;
}

/// Calls `visit` for the process that each scheduler has at this moment, with its structure.
template <typename Visit>
void Collectors::each_current(const Visit& visit) {
    if (!schedulers_) {
        return;
    }
    auto& memory = vm_->target().memory();
    const auto& tables = vm_->tables();
    const auto& facts = vm_->facts();
    for (const auto& [array, count] :
         {std::pair{tables.schedulers, facts.schedulers},
          std::pair{tables.dirty_cpu_schedulers, facts.dirty_cpu_schedulers}}) {
        for (std::uint32_t number = 0; array != 0 && number < std::min(count, kMaxSchedulers);
             ++number) {
            const auto process = memory.word(array + std::uint64_t{number} * schedulers_->stride +
                                             schedulers_->current_process.offset);
            if (!process || *process == 0 || *process % sizeof(std::uint64_t) != 0) {
                continue;
            }
            if (const auto structure = OwnedStruct::read(memory, *process, f_.bytes)) {
                visit(*process, structure->view());
            }
        }
    }
}

std::vector<Collectors::Collected> Collectors::collected() {
    std::vector<Collected> found;
    each_current([&](Address process, const StructView& view) {
        // Once the stack or the mark has moved, all objects have (CollectionReader).
        if ((view.get(f_.state) & gc_) == 0 || !f_.stack_is_in_place(view) ||
            !f_.mark_is_in_place(view)) {
            return;
        }
        Collected one{process,
                      {{view.get(f_.heap), view.get(f_.htop)},
                       {view.get(f_.old_heap), view.get(f_.old_htop)}}};
        if (const auto abandoned = f_.abandoned(view); abandoned.begin != 0) {
            one.from.push_back(abandoned);
        }
        if (fragments_.any(view)) {
            // Memory that was cached may be older than this moment.
            vm_->forget();
            auto fragments = fragments_.read(view, kMostFragmentsInAStop);
            one.known = fragments.has_value();
            if (fragments) {
                one.from.insert(one.from.end(), fragments->begin(), fragments->end());
            }
        }
        found.push_back(std::move(one));
    });
    return found;
}

bool Collectors::is_good_moment() {
    bool good = true;
    std::map<Address, Look> looks;
    each_current([&](Address process, const StructView& view) {
        if (!is_large(view)) {
            return;
        }
        const auto state = view.get(f_.state);
        if ((state & gc_) == 0) {
            good = good && (state & running_) == 0;
            return;
        }
        Look now{.heap = view.get(f_.heap), .top = view.get(f_.htop)};
        const auto before = looks_.find(process);
        const bool known = before != looks_.end();
        now.moved = known && (before->second.moved || before->second.heap != now.heap);
        // While messages are copied to the heap, its top grows.
        good = good && is_followed(view) && f_.stack_is_in_place(view) &&
               f_.mark_is_in_place(view) && known && !now.moved && before->second.top == now.top;
        looks.emplace(process, now);
    });
    looks_ = std::move(looks);
    return good;
}

bool Collectors::can_be_captured(const YieldState& known) {
    bool all = true;
    each_current([&](Address process, const StructView& view) {
        if (!is_large(view)) {
            return;
        }
        const auto state = view.get(f_.state);
        const auto* const run = known.of(process);
        if ((state & gc_) == 0) {
            all = all && ((state & running_) == 0 || run != nullptr);
            return;
        }
        const auto look = looks_.find(process);
        const bool moved =
            look != looks_.end() && (look->second.moved || look->second.heap != view.get(f_.heap));
        const bool roots_known =
            (state & called_for_) != 0 || (run != nullptr && run->collection_words);
        all = all && is_followed(view) && !moved && roots_known && unclear(process).empty();
    });
    return all;
}

bool Collectors::is_large(const StructView& view) const {
    const auto old_bytes = view.get(f_.old_hend) - view.get(f_.old_heap);
    return view.get(f_.heap_sz) >= kLargeWords || old_bytes / sizeof(std::uint64_t) >= kLargeWords;
}

/// Whether the fields of a process in a collection are those of steps that can be followed
/// (CollectionReader): once the mark or the stack is that of the new block, all has been copied.
bool Collectors::is_followed(const StructView& view) const {
    const bool is_whole = !f_.stack_is_in_place(view) || !f_.mark_is_in_place(view);
    return f_.heap_is_consistent(view) && (is_whole || !f_.old_heap_may_be_freed(view)) &&
           vm_->target().memory().word(view.get(f_.stop)).has_value();
}

/// Whether a cell's second word is the address of its copy: its own tail leads to collected words
/// or to a literal, or is no pointer to a cell.
bool Collectors::leads_to_copy(std::uint64_t word, const Collected& collected) const {
    const auto& facts = vm_->facts();
    const Span literals{facts.literals_start, facts.literals_start + facts.literals_bytes};
    const auto address = word & ~kPointerMask;
    return (word & kPointerMask) == kPrimaryList && !literals.holds(address) &&
           !collected.holds(address);
}

/// Whether a cell's copy is there for certain. Its tail leads to collected words until it is swept.
/// What was in that memory before does not: it may be of the space from which the former collection
/// moved to the words that are collected now, but the words that lead there follow a 0
/// (THE_NON_VALUE).
bool Collectors::is_copied_cell(Address copy, const Collected& collected) const {
    std::array<std::uint64_t, 2> words{};
    return vm_->target().memory().read(copy, std::as_writable_bytes(std::span(words))) &&
           words[0] != 0 && (words[1] & kPointerMask) == kPrimaryList &&
           collected.holds(words[1] & ~kPointerMask);
}

/// Whether a register leads to a cell's copy or behind it: it may not be there yet.
bool Collectors::holds_copy(const target::ThreadRegisters& thread, Address copy) {
    return std::ranges::any_of(thread.general(), [&](std::uint64_t value) {
        const auto address = value & ~kPointerMask;
        return copy <= address && address - copy <= 2 * sizeof(std::uint64_t);
    });
}

/// Whether `first`, the first word of a boxed object, leads to a copy whose header may not be there
/// yet: OTP 29 stores it after the copy's address. A copy is there if the words behind its header
/// are those of its original.
bool Collectors::lacks_header(const target::ThreadRegisters& thread, Address object,
                              std::uint64_t first, const Collected& collected) const {
    const auto copy = first & ~kPointerMask;
    if ((first & kPointerMask) != kPrimaryBoxed || !holds_copy(thread, copy) ||
        collected.holds(copy)) {
        return false;
    }
    const auto header = vm_->target().memory().word(copy);
    return header && (*header == 0 || (!thread.has_word(*header) &&
                                       !is_copy_of(vm_->target().memory(), scheme_, object, copy)));
}

/// Whether an object that may be half moved has stayed as it is, with this word, while the thread
/// ran on several times: then its registers lead to the object, its header or its copy for another
/// reason. It may be the first of its space, whose beginning the collection remembers.
bool Collectors::stays(const target::ThreadRegisters& thread, Address object, std::uint64_t word) {
    constexpr int kLooks = 4;
    auto& seen = seen_[{thread.thread, object}];
    if (seen.word != word) {
        seen = {.word = word, .registers = thread};
    } else if (!thread.stands_as(seen.registers)) {
        seen.registers = thread;
        ++seen.runs;
    }
    return seen.runs >= kLooks;
}

/// A cell is moved by several stores (erl_gc.h, move_cons(); OTP 25 and 27): its first word becomes
/// 0, both words are stored to the copy, its second word becomes the copy's address. In OTP 29 both
/// words are stored to the copy first. Meanwhile a vector register has both; the cell still has the
/// second. If the copy is there, the cell counts as moved, since its referrer may lead to the copy;
/// else as not moved: the referrer is rewritten last.
std::optional<MendedWord> Collectors::mended_cell(const target::ThreadRegisters& thread,
                                                  Address cell, std::uint64_t tail,
                                                  const Collected& collected) const {
    const auto has_tail = [&](const auto& vector) {
        return vector[0] != 0 && vector[1] == tail && tail != 0;
    };
    const auto held = std::ranges::find_if(thread.vectors, has_tail);
    // Another cell may have the same tail: which of two is meant is not known.
    if (held == thread.vectors.end() ||
        std::ranges::any_of(std::next(held), thread.vectors.end(), [&](const auto& vector) {
            return has_tail(vector) && vector != *held;
        })) {
        return std::nullopt;
    }
    for (const auto value : thread.general()) {
        std::array<std::uint64_t, 2> copy{};
        if (leads_to_copy(value, collected) &&
            vm_->target().memory().read(value & ~kPointerMask,
                                        std::as_writable_bytes(std::span(copy))) &&
            copy == *held) {
            return MendedWord{cell + sizeof(std::uint64_t), value};
        }
    }
    return MendedWord{cell, (*held)[0]};
}

bool Collectors::is_half_moved(Address object, const target::ThreadRegisters& thread,
                               const Collected& collected, std::vector<MendedWord>& mended) {
    std::array<std::uint64_t, 2> words{};
    if (!collected.holds(object) ||
        !vm_->target().memory().read(object, std::as_writable_bytes(std::span(words)))) {
        return false;
    }
    const auto [first, second] = words;
    if (first == 0 && leads_to_copy(second, collected)) {
        const auto copy = second & ~kPointerMask;
        return holds_copy(thread, copy) && !is_copied_cell(copy, collected) &&
               !stays(thread, object, second);
    }
    if (first == 0) {
        const auto word = mended_cell(thread, object, second, collected);
        if (word) {
            mended.push_back(*word);
        }
        return !word && !stays(thread, object, second);
    }
    const bool header_in_hand = (first & kPrimaryMask) == kPrimaryHeader && thread.has_word(first);
    return (header_in_hand && !stays(thread, object, first)) ||
           lacks_header(thread, object, first, collected);
}

bool Collectors::is_between_stores(const target::ThreadRegisters& thread,
                                   const Collected& collected, std::vector<MendedWord>& mended) {
    if (thread.in_system_call()) {
        return false;
    }
    // A register may have been advanced to the next word, or behind a cell, before the stores.
    constexpr std::array<std::uint64_t, 3> kAdvanced = {0, 8, 16};
    return std::ranges::any_of(thread.general(), [&](std::uint64_t value) {
        const auto address = value & ~kPointerMask;
        return std::ranges::any_of(kAdvanced, [&](std::uint64_t bytes) {
            return is_half_moved(address - bytes, thread, collected, mended);
        });
    });
}

std::vector<pid_t> Collectors::between_stores(std::span<const target::ThreadRegisters> threads) {
    std::vector<pid_t> found;
    std::vector<MendedWord> mended;
    const auto collected = this->collected();
    for (const auto& thread : threads) {
        if (std::ranges::any_of(collected, [&](const Collected& one) {
                return is_between_stores(thread, one, mended);
            })) {
            found.push_back(thread.thread);
        }
    }
    return found;
}

void Collectors::record(std::span<const target::ThreadRegisters> threads) {
    unclear_.clear();
    mended_.clear();
    for (const auto& one : collected()) {
        auto& mended = mended_[one.process];
        if (!one.known) {
            unclear_.emplace(one.process, "its heap fragments could not be read");
        } else if (std::ranges::any_of(threads, [&](const target::ThreadRegisters& thread) {
                       return is_between_stores(thread, one, mended);
                   })) {
            unclear_.emplace(one.process, "one of its objects was between two places");
        }
    }
}

std::span<const MendedWord> Collectors::mended(Address process) const {
    const auto found = mended_.find(process);
    return found == mended_.end() ? std::span<const MendedWord>() : found->second;
}

std::string_view Collectors::unclear(Address process) const {
    if (!schedulers_) {
        return "the layout does not tell which thread collects it";
    }
    const auto found = unclear_.find(process);
    return found == unclear_.end() ? std::string_view() : found->second;
}

}  // namespace beamdump::beam
