#include <libdump/base/return_if_error.h>
#include <libsample/counts/process_counts.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/target/process/clock.h>

namespace beamdump::sampler {
namespace {

constexpr std::uint32_t kSlotsOfALook = 65536;
constexpr std::size_t kStructuresOfARead = 512;
/// More words in a process are garbage.
constexpr std::uint64_t kMostHeapWords = std::uint64_t{1} << 44U;

}  // namespace

CountsReader::CountsReader(beam::Vm& vm, beam::IdTable table, beam::PidWords pids,
                           beam::LayoutNames& names)
    : vm_(&vm), table_(table), pids_(pids), queues_(names) {
    id_ = names.field(beam::runtime::Process::common_id);
    reds_ = names.field(beam::runtime::Process::reds);
    state_ = names.field(beam::runtime::Process::state);
    heap_ = names.field(beam::runtime::Process::heap);
    hend_ = names.field(beam::runtime::Process::hend);
    heap_sz_ = names.field(beam::runtime::Process::heap_sz);
    old_heap_ = names.field(beam::runtime::Process::old_heap);
    old_hend_ = names.field(beam::runtime::Process::old_hend);
    mbuf_sz_ = names.field(beam::runtime::Process::mbuf_sz);
    abandoned_ = names.field(beam::runtime::Process::abandoned_heap);
    collecting_ = names.constant(beam::runtime::constant::state_gc);
    bytes_ = names.bytes(beam::runtime::Process::kName);
}

Result<CountsReader> CountsReader::open(beam::Vm& vm) {
    ASSIGN_OR_RETURN(const auto table, beam::IdTable::processes(vm));
    ASSIGN_OR_RETURN(const auto pids, beam::PidWords::of(vm));
    beam::LayoutNames names(vm.layout());
    CountsReader reader(vm, table, pids, names);
    RETURN_IF_ERROR(names.outcome());
    return reader;
}

std::optional<ProcessCounts> CountsReader::counts(const beam::IdSlot& slot,
                                                  const beam::StructView& view) const {
    const auto id = view.get(id_);
    const auto owner = pids_.owner_id(id);
    if (!owner || pids_.slot(id) != slot.slot) {
        return std::nullopt;
    }
    ProcessCounts counts{.slot = slot, .owner_id = *owner, .reductions = view.get(reds_)};
    const auto heap = view.get(heap_);
    const auto words = view.get(heap_sz_);
    const auto old_heap = view.get(old_heap_);
    const auto old_hend = view.get(old_hend_);
    const auto fragments = view.get(mbuf_sz_);
    // heap_sz is the block's size, unless the block was abandoned for a while (erl_gc.c,
    // delay_garbage_collection()); there is an old heap or none.
    const bool agree = words < kMostHeapWords && heap != 0 && view.get(hend_) == heap + words * 8 &&
                       view.get(abandoned_) == 0 && (old_heap == 0) == (old_hend == 0) &&
                       old_heap <= old_hend && old_hend - old_heap < kMostHeapWords * 8 &&
                       fragments < kMostHeapWords;
    if (agree && (view.get(state_) & collecting_) == 0) {
        counts.heap_bytes = (words + fragments) * 8 + (old_hend - old_heap);
    }
    counts.messages = queues_.count(*vm_, view).all();
    return counts;
}

Result<void> CountsReader::batch(std::span<const beam::IdSlot> slots, ProcessesRead& into) {
    structures_.resize(slots.size() * bytes_);
    reads_.resize(slots.size());
    for (std::size_t at = 0; at < slots.size(); ++at) {
        reads_[at] = {slots[at].address, std::span(structures_).subspan(at * bytes_, bytes_),
                      false};
    }
    RETURN_IF_ERROR(merged_.read(vm_->bulk(), reads_));
    // Signals and their buffers are read through the cache.
    vm_->forget();
    for (std::size_t at = 0; at < slots.size(); ++at) {
        auto found =
            reads_[at].done ? counts(slots[at], beam::StructView(reads_[at].into)) : std::nullopt;
        if (found) {
            into.processes.push_back(*found);
        } else {
            ++into.unreadable;
        }
    }
    return {};
}

Result<void> CountsReader::read_some(std::uint32_t first, std::uint32_t slots,
                                     const std::atomic<bool>& cancelled, ProcessesRead& into) {
    ASSIGN_OR_RETURN(const auto used, table_.used(first, slots));
    for (std::size_t at = 0; at < used.size(); at += kStructuresOfARead) {
        if (cancelled) {
            return fail(ErrorCode::kIo, "cancelled");
        }
        const auto some = std::min(kStructuresOfARead, used.size() - at);
        if (into.processes.size() + some > kMostProcesses) {
            into.left_out += some;
            continue;
        }
        RETURN_IF_ERROR(batch(std::span(used).subspan(at, some), into));
    }
    return {};
}

Result<ProcessesRead> CountsReader::read(const std::atomic<bool>& cancelled) {
    ProcessesRead read{.processes = {}, .at_ns = target::clock_ns(CLOCK_MONOTONIC)};
    for (std::uint32_t first = 0; first < table_.slots(); first += kSlotsOfALook) {
        RETURN_IF_ERROR(read_some(first, kSlotsOfALook, cancelled, read));
    }
    return read;
}

}  // namespace beamdump::sampler
