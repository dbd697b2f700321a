#include <libdump/base/return_if_error.h>
#include <libdump/term/term_scheme.h>
#include <libvm/beam/collections/collection.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

namespace beamdump::beam {
namespace {

/// F_DIRTY_GC_HIBERNATE, F_DIRTY_MAJOR_GC and F_HIBERNATED (erl_process.h, OTP 25 to 29). The first
/// two are cleared when a hibernation begins; the last one is set then in OTP 29.
constexpr std::uint64_t kFullsweep = 1U << 18U | 1U << 19U | 1U << 21U;

constexpr std::uint64_t kCellWords = 2;
/// So many possible copies are examined together, the highest first, so that few are read.
constexpr std::size_t kWaiting = 4096;
/// Bounds the memory for words of data that look like the address of a copy.
constexpr std::size_t kMostRefused = 65536;
constexpr std::uint64_t kMostMessages = 100'000'000;
constexpr std::size_t kMostFragmentsMoved = 65536;
/// Words of a stack that are read at a time.
constexpr std::size_t kMaxStackWords = 1U << 15U;
/// How far before the end of its block the end of a stack is searched: the allocator rounds sizes
/// up. One that is farther away is not found.
constexpr std::uint64_t kMaxRounding = std::uint64_t{8} << 12U;

bool any_holds(std::span<const Span> spans, Address address) {
    return std::ranges::any_of(spans, [&](const Span& span) { return span.holds(address); });
}

bool is_pointer(std::uint64_t word) {
    const auto tag = word & kPointerMask;
    return tag == kPrimaryList || tag == kPrimaryBoxed;
}

std::unexpected<Error> elsewhere(std::string_view why) {
    return fail(ErrorCode::kChanged, fmt::format("its collection stands where {}", why));
}

}  // namespace

CollectionFields::CollectionFields(LayoutNames& names)
    : heap(names.field(runtime::Process::heap)),
      htop(names.field(runtime::Process::htop)),
      hend(names.field(runtime::Process::hend)),
      stop(names.field(runtime::Process::stop)),
      high_water(names.field(runtime::Process::high_water)),
      heap_sz(names.field(runtime::Process::heap_sz)),
      abandoned_heap(names.field(runtime::Process::abandoned_heap)),
      old_heap(names.field(runtime::Process::old_heap)),
      old_htop(names.field(runtime::Process::old_htop)),
      old_hend(names.field(runtime::Process::old_hend)),
      state(names.field(runtime::Process::state)),
      flags(names.field(runtime::Process::flags)),
      gen_gcs(names.field(runtime::Process::gen_gcs)),
      bytes(names.bytes(runtime::Process::kName)) {}

Span CollectionFields::abandoned(const StructView& structure) const {
    const auto begin = structure.get(abandoned_heap);
    return begin == 0 ? Span{}
                      : Span{begin, begin + structure.get(heap_sz) * sizeof(std::uint64_t)};
}

bool CollectionFields::heap_is_consistent(const StructView& structure) const {
    // With an abandoned heap the size is that one's.
    return structure.get(abandoned_heap) != 0 ||
           structure.get(heap) + structure.get(heap_sz) * sizeof(std::uint64_t) ==
               structure.get(hend);
}

bool CollectionFields::stack_is_in_place(const StructView& structure) const {
    const auto top = structure.get(stop);
    return structure.get(heap) <= top && top <= structure.get(hend);
}

bool CollectionFields::old_heap_may_be_freed(const StructView& structure) const {
    return structure.get(old_heap) == 0 &&
           ((structure.get(flags) & kFullsweep) != 0 || structure.get(gen_gcs) != 0);
}

bool CollectionFields::mark_is_in_place(const StructView& structure) const {
    const auto mark = structure.get(high_water);
    const auto former = abandoned(structure);
    return (structure.get(heap) <= mark && mark <= structure.get(hend)) ||
           (former.begin != 0 && former.begin <= mark && mark <= former.end);
}

Result<CollectedFragments> CollectedFragments::open(Vm& vm) {
    ASSIGN_OR_RETURN(auto fragments, FragmentReader::open(vm));
    ASSIGN_OR_RETURN(auto messages, MessageWalker::open(vm));
    LayoutNames names(vm.layout());
    CollectedFragments found(fragments, std::move(messages), names);
    RETURN_IF_ERROR(names.outcome());
    return found;
}

bool CollectedFragments::any(const StructView& structure) const {
    return structure.get(own_) != 0 || structure.get(received_) != 0;
}

Result<std::vector<Span>> CollectedFragments::read(const StructView& structure, std::size_t most) {
    std::vector<Span> spans;
    const auto add = [&](const Fragment& fragment) -> Result<void> {
        if (spans.size() == most) {
            return fail(ErrorCode::kChanged,
                        fmt::format("it has more than {} heap fragments in a collection", most));
        }
        spans.push_back({fragment.words_begin, fragment.words_begin + fragment.used_words * 8});
        return {};
    };
    RETURN_IF_ERROR(fragments_.chain(structure.get(own_), most + 1, add));
    RETURN_IF_ERROR(messages_.received(structure.get(received_), most + 1, add));
    return spans;
}

Result<void> CollectedFragments::each_message(
    const ProcessView& process, std::uint64_t most,
    const std::function<Result<void>(std::uint64_t)>& visit) {
    return messages_.walk(process, most, [&](QueueEntry& entry) -> Result<void> {
        return entry.message.has_term_word() ? visit(entry.message.term_word()) : Result<void>();
    });
}

Result<CollectionReader> CollectionReader::open(Vm& vm) {
    ASSIGN_OR_RETURN(auto fragments, CollectedFragments::open(vm));
    LayoutNames names(vm.layout());
    CollectionReader reader(vm, std::move(fragments), names);
    reader.running_sys_ = names.constant(runtime::constant::state_running_sys);
    reader.dirty_running_sys_ = names.constant(runtime::constant::state_dirty_running_sys);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

Result<CollectionSpaces> CollectionReader::read(const StructView& structure,
                                                const ProcessView& process,
                                                std::optional<std::uint32_t> own_call) {
    const auto state = structure.get(f_.state);
    if ((state & (running_sys_ | dirty_running_sys_)) == 0 && !own_call) {
        return elsewhere("the arguments of the running function are not known");
    }
    auto found = follow(structure, process);
    if (found && own_call) {
        found->stack.begin += *own_call * kWordBytes;
    }
    return found;
}

Result<CollectionSpaces> CollectionReader::follow(const StructView& structure,
                                                  const ProcessView& process) {
    if (!f_.heap_is_consistent(structure)) {
        return elsewhere("its heap has moved and its pointers have not");
    }
    ASSIGN_OR_RETURN(auto blocks, HeapBlocks::find(*vm_));
    if (!f_.stack_is_in_place(structure)) {
        return stack_moved(structure, blocks);
    }
    return f_.mark_is_in_place(structure) ? moving(structure, process, blocks)
                                          : swept(structure, blocks);
}

/// A minor collection has copied all; the new mark is the top of the new block.
Result<CollectionSpaces> CollectionReader::swept(const StructView& structure, HeapBlocks& blocks) {
    const auto top = structure.get(f_.high_water);
    ASSIGN_OR_RETURN(const auto block, blocks.block_at(top));
    if (!block) {
        return elsewhere("its new heap is in no block");
    }
    CollectionSpaces spaces;
    spaces.whole = true;
    spaces.stack = {structure.get(f_.stop), structure.get(f_.hend)};
    spaces.old_heap = {structure.get(f_.old_heap), structure.get(f_.old_htop)};
    spaces.block = {block->begin, top};
    return spaces;
}

/// The stack is in the new block. From here on former blocks are freed, then the structure is
/// changed field by field.
Result<CollectionSpaces> CollectionReader::stack_moved(const StructView& structure,
                                                       HeapBlocks& blocks) {
    const auto stop = structure.get(f_.stop);
    ASSIGN_OR_RETURN(const auto block, blocks.block_at(stop));
    if (!block) {
        return elsewhere("its stack is in no block");
    }
    const Span below{block->begin, stop + 1};
    CollectionSpaces spaces;
    spaces.whole = true;
    ASSIGN_OR_RETURN(const auto end, stack_end(stop, block->end));
    spaces.stack = {stop, end};
    spaces.old_heap = {structure.get(f_.old_heap), structure.get(f_.old_htop)};
    // Words between the top and the stack are read as part of the heap where the top is not known:
    // nothing leads there.
    const auto top = structure.get(f_.high_water);
    spaces.block = {block->begin, below.holds(top) ? top : stop};
    return spaces;
}

/// The stack ends with the return address of its first frame, behind which the block may go on.
Result<Address> CollectionReader::stack_end(Address stop, Address block_end) {
    const auto& points = vm_->tables().code_points;
    const auto lowest = std::max(stop, block_end - std::min(block_end, kMaxRounding));
    for (auto at = block_end; at >= lowest + kWordBytes; at -= kWordBytes) {
        ASSIGN_OR_RETURN(const auto word, vm_->memory().word(at - kWordBytes));
        if (std::ranges::find(points, word, &Found::address) != points.end()) {
            return at;
        }
    }
    return elsewhere("the end of its stack is not known");
}

/// Finds the new block: what roots lead to that is no other part of the process.
class CollectionReader::Roots {
  public:
    Roots(Vm& vm, HeapBlocks& blocks, CollectionSpaces& spaces)
        : vm_(vm), blocks_(blocks), spaces_(spaces) {
        const auto& facts = vm.facts();
        literals_ = {facts.literals_start, facts.literals_start + facts.literals_bytes};
    }

    Result<void> words(const Span& span) {
        std::vector<std::uint64_t> words(std::min<std::uint64_t>(span.words(), kMaxStackWords));
        for (auto at = span.begin; at < span.end;) {
            const auto part = std::span(words).first(
                std::min<std::uint64_t>(words.size(), (span.end - at) / kWordBytes));
            RETURN_IF_ERROR(vm_.bulk().read(at, std::as_writable_bytes(part)));
            for (const auto word : part) {
                RETURN_IF_ERROR(this->word(word));
            }
            at += part.size_bytes();
        }
        return {};
    }

    Result<void> word(std::uint64_t word) {
        const auto address = word & ~kPointerMask;
        if (!is_pointer(word) || any_holds(spaces_.from, address) || literals_.holds(address)) {
            return {};
        }
        if (spaces_.promoted.holds(address)) {
            spaces_.highest_promoted = std::max(spaces_.highest_promoted, address);
            return {};
        }
        if (!spaces_.block.holds(address)) {
            if (any_holds(spaces_.fragments, address)) {
                return {};
            }
            ASSIGN_OR_RETURN(const auto block, blocks_.block_at(address));
            if (!block || spaces_.block.begin != 0) {
                return elsewhere(fmt::format(
                    "a root leads to {:#x}, which is in no block of its heap", address));
            }
            spaces_.block = {block->begin, block->end};
        }
        spaces_.highest_in_block = std::max(spaces_.highest_in_block, address);
        return {};
    }

    /// A message's term is on the heap, or in a fragment of its own: eheap_alloc has both.
    Result<void> word_of_message(std::uint64_t word) {
        const auto address = word & ~kPointerMask;
        if (!is_pointer(word) || any_holds(spaces_.from, address) || literals_.holds(address) ||
            any_holds(spaces_.fragments, address)) {
            return {};
        }
        if (spaces_.promoted.holds(address)) {
            spaces_.highest_promoted = std::max(spaces_.highest_promoted, address);
            return {};
        }
        ASSIGN_OR_RETURN(const auto block, blocks_.block_at(address));
        // Copies begin where the block does; a fragment has a header there.
        if (block && address == block->begin) {
            spaces_.block = {block->begin, block->end};
        }
        return {};
    }

    /// After a BIF a collection begins with its fragments, object by object, before any root
    /// (erl_gc.c, collect_live_heap_frags()): the first object's new address leads to the block.
    Result<void> first_object(const Span& fragment) {
        std::array<std::uint64_t, 2> words{};
        const auto some = std::span(words).first(std::min<std::uint64_t>(2, fragment.words()));
        RETURN_IF_ERROR(vm_.bulk().read(fragment.begin, std::as_writable_bytes(some)));
        const bool is_moved_cell = words[0] == 0 && (words[1] & kPointerMask) == kPrimaryList;
        return word(is_moved_cell ? words[1] : words[0]);
    }

  private:
    Vm& vm_;
    HeapBlocks& blocks_;
    CollectionSpaces& spaces_;
    Span literals_;
};

/// Roots are being moved, or the new space is being swept.
Result<CollectionSpaces> CollectionReader::moving(const StructView& structure,
                                                  const ProcessView& process, HeapBlocks& blocks) {
    CollectionSpaces spaces;
    spaces.stack = {structure.get(f_.stop), structure.get(f_.hend)};
    spaces.promoted = {structure.get(f_.old_htop), structure.get(f_.old_hend)};
    for (const auto& span :
         {Span{structure.get(f_.heap), structure.get(f_.htop)},
          process.abandoned_heap.begin != 0 ? process.abandoned_heap : f_.abandoned(structure),
          Span{structure.get(f_.old_heap), structure.get(f_.old_htop)}}) {
        if (span.words() != 0) {
            spaces.from.push_back(span);
        }
    }
    ASSIGN_OR_RETURN(spaces.fragments, fragments_.read(structure, kMostFragmentsMoved));
    Roots roots(*vm_, blocks, spaces);
    RETURN_IF_ERROR(roots.words(spaces.stack));
    RETURN_IF_ERROR(roots.words(process.dictionary));
    RETURN_IF_ERROR(roots.words(process.arguments));
    RETURN_IF_ERROR(roots.words(process.native_arguments));
    for (const auto word : process.facts.argument_words()) {
        RETURN_IF_ERROR(roots.word(word));
    }
    if (!spaces.fragments.empty()) {
        RETURN_IF_ERROR(roots.first_object(spaces.fragments.front()));
    }
    const bool has_messages =
        !process.facts.off_heap_message_queue() && (process.inner != 0 || process.middle != 0);
    // Other roots may lead to the old heap alone, or be none.
    if (has_messages && spaces.block.begin == 0) {
        RETURN_IF_ERROR(fragments_.each_message(process, kMostMessages, [&](std::uint64_t word) {
            return spaces.block.begin == 0 ? roots.word_of_message(word) : Result<void>();
        }));
    }
    // Before objects move nothing tells it from the time after, when messages are copied to the
    // heap (erl_gc.c, move_msgs_to_heap()).
    const bool nothing_moved = spaces.block.begin == 0 && spaces.highest_promoted == 0;
    // In OTP 29 the mark of hibernation is there from the beginning.
    if (nothing_moved && process.facts.hibernated()) {
        return elsewhere("its pointers may not be those of its heap");
    }
    if (spaces.block.begin != 0 && f_.old_heap_may_be_freed(structure)) {
        return elsewhere("its old heap may have been freed");
    }
    // These are freed before messages are copied.
    const bool has_former = process.abandoned_heap.begin != 0 ||
                            f_.abandoned(structure).begin != 0 || fragments_.any(structure);
    if (nothing_moved && has_messages && !has_former) {
        return elsewhere("its messages may be on their way to its heap");
    }
    return spaces;
}

Result<TagScheme> term_scheme_of(Vm& vm) {
    ASSIGN_OR_RETURN(const auto id, vm.layout().constant(runtime::constant::term_scheme));
    return scheme_of(static_cast<format::TermScheme>(id));
}

bool is_copy_of(memory::MemorySource& memory, const TagScheme& scheme, Address original,
                Address copy) {
    std::array<std::uint64_t, kSizeWords> copied{};
    std::array<std::uint64_t, kSizeWords> collected{};
    if (!memory.read(copy, std::as_writable_bytes(std::span(copied))) ||
        !memory.read(original, std::as_writable_bytes(std::span(collected)))) {
        return false;
    }
    const auto words = boxed_words(scheme, copied).value_or(0);
    for (std::size_t index = 1; index < std::min<std::uint64_t>(words, copied.size()); ++index) {
        const bool swept = is_pointer(collected.at(index)) && is_pointer(copied.at(index));
        if (copied.at(index) != collected.at(index) && !swept) {
            return false;
        }
    }
    return words > 1;
}

Result<MovedObjects> MovedObjects::open(Vm& vm, const CollectionSpaces& spaces) {
    ASSIGN_OR_RETURN(const auto scheme, term_scheme_of(vm));
    return MovedObjects(vm, scheme, spaces);
}

void MovedObjects::note(const Moved& moved) {
    for (auto& target : targets_) {
        if (target.room.holds(moved.copy) && (!target.last || moved.copy > target.last->copy)) {
            target.waiting.push_back(moved);
            if (target.waiting.size() == kWaiting) {
                examine(target);
            }
        }
    }
}

/// The highest of those that wait that is a copy becomes the last one.
void MovedObjects::examine(Target& target) {
    std::ranges::sort(target.waiting, std::greater(), &Moved::copy);
    for (const auto& moved : target.waiting) {
        if (target.last && moved.copy <= target.last->copy) {
            break;
        }
        if (is_copy(moved)) {
            target.last = moved;
            break;
        }
        refuse(target, moved);
    }
    target.waiting.clear();
}

void MovedObjects::refuse(Target& target, const Moved& moved) {
    if (target.refused.size() == kMostRefused && target.last) {
        std::erase_if(target.refused,
                      [&](const Moved& one) { return one.copy < target.last->copy; });
    }
    if (target.refused.size() == kMostRefused) {
        target.knows_all_refused = false;
        return;
    }
    target.refused.push_back(moved);
}

/// A cell's original has nothing left to compare: it is told by its empty first word.
bool MovedObjects::is_copy(const Moved& moved) {
    return moved.is_cell || is_copy_of(vm_->memory(), scheme_, moved.original, moved.copy);
}

Address MovedObjects::end_of(const Moved& moved) {
    if (moved.is_cell) {
        return moved.copy + kCellWords * kWordBytes;
    }
    std::array<std::uint64_t, kSizeWords> words{};
    const bool read =
        vm_->memory().read(moved.copy, std::as_writable_bytes(std::span(words))).has_value();
    return moved.copy + (read ? boxed_words(scheme_, words).value_or(0) * kWordBytes : 0);
}

/// Up to OTP 26 a short sub binary becomes a heap binary when it is moved (erl_gc.c,
/// erts_sub_binary_to_heap_binary()): its original has other words than a heap binary.
bool MovedObjects::may_be_converted(const Moved& moved) {
    constexpr std::uint64_t kMostConverted = 3 * kWordBytes;
    std::array<std::uint64_t, 2> words{};
    return !scheme_.heap_binary_in_bits &&
           vm_->memory().read(moved.copy, std::as_writable_bytes(std::span(words))) &&
           boxed_kind(scheme_, words[0]) == BoxedKind::kHeapBinary && words[1] <= kMostConverted;
}

void MovedObjects::look(Address begin, std::span<const std::byte> bytes) {
    bool follows = begin == next_;
    for (std::size_t at = 0; at + kWordBytes <= bytes.size(); at += kWordBytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, kWordBytes);
        const auto tag = word & kPointerMask;
        if (tag == kPrimaryBoxed) {
            note({begin + at, word & ~kPointerMask, false});
        } else if (tag == kPrimaryList && follows && previous_ == 0) {
            note({begin + at - kWordBytes, word & ~kPointerMask, true});
        }
        previous_ = word;
        follows = true;
    }
    next_ = begin + bytes.size();
}

/// Copies follow each other without a gap: behind the last complete one may be the one that is
/// being copied.
Result<void> MovedObjects::finish(Target& target, records::Collection& into) {
    examine(target);
    auto& refused = target.refused;
    std::ranges::sort(refused, {}, &Moved::copy);
    auto end = target.last ? end_of(*target.last) : target.room.begin;
    // Others behind it may have been changed by the sweep, as a match context's base is.
    bool found = false;
    for (;;) {
        const auto next = std::ranges::lower_bound(refused, end, {}, &Moved::copy);
        if (next == refused.end() || next->copy != end) {
            break;
        }
        target.last = *next;
        found = true;
        end = end_of(*next);
        refused.erase(refused.begin(), std::next(next));
    }
    if (!found && !target.knows_all_refused) {
        return elsewhere("too many words of data look like the addresses of copies");
    }
    if (!target.last && target.highest_root == 0) {
        return {};
    }
    if (!target.last || target.last->copy < target.highest_root) {
        return elsewhere(fmt::format("a root leads to {:#x}, behind all copies that were met",
                                     target.highest_root));
    }
    const auto& last = *target.last;
    if (found && may_be_converted(last)) {
        return elsewhere("its last copy may be a converted binary");
    }
    auto& span = *into.add_target();
    span.set_begin(target.room.begin);
    span.set_end(last.is_cell ? end : last.copy);
    if (!last.is_cell) {
        ASSIGN_OR_RETURN(const auto header, vm_->memory().word(last.copy));
        if (header == 0 || boxed_kind(scheme_, header) == BoxedKind::kUnknown) {
            return elsewhere("its last copy has no header yet");
        }
        auto& moved = *into.add_last_moved();
        moved.set_original_address(last.original);
        moved.set_copy_address(last.copy);
        moved.set_header_word(header);
    }
    return {};
}

Result<void> MovedObjects::finish(records::Collection& into) {
    for (auto& target : targets_) {
        RETURN_IF_ERROR(finish(target, into));
    }
    return {};
}

RootResolver::RootResolver(Vm& vm, const records::Collection& collection) : vm_(&vm) {
    for (const auto& span : collection.from()) {
        from_.push_back({span.begin(), span.end()});
    }
    for (const auto& span : collection.target()) {
        targets_.push_back({span.begin(), span.end()});
    }
    for (auto* spans : {&from_, &targets_}) {
        std::ranges::sort(*spans, {}, &Span::begin);
    }
    for (const auto& last : collection.last_moved()) {
        last_.emplace(last.copy_address(), last.original_address());
    }
}

Result<std::uint64_t> RootResolver::resolved(std::uint64_t word) {
    const auto holds = [](const std::vector<Span>& spans, Address address) {
        const auto behind = std::ranges::upper_bound(spans, address, {}, &Span::begin);
        return behind != spans.begin() && std::prev(behind)->holds(address);
    };
    const auto tag = word & kPointerMask;
    const auto address = word - tag;
    if (!is_pointer(word)) {
        return word;
    }
    if (const auto last = last_.find(address); last != last_.end()) {
        return last->second | tag;
    }
    if (!holds(from_, address)) {
        return word;
    }
    const bool is_cell = tag == kPrimaryList;
    std::array<std::uint64_t, kCellWords> words{};
    RETURN_IF_ERROR(vm_->memory().read(address, std::as_writable_bytes(std::span(words))));
    const auto moved = is_cell ? words[1] : words[0];
    const bool is_moved = (!is_cell || words[0] == 0) && (moved & kPointerMask) == tag &&
                          holds(targets_, moved - tag);
    return is_moved ? moved : word;
}

}  // namespace beamdump::beam
