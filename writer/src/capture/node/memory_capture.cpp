#include "capture/node/memory_capture.h"

#include "capture/node/mapping_groups.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>
#include <libvm/beam/allocators/memory_amounts.h>
#include <libvm/beam/allocators/segments.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace beamdump::capture {
namespace {

/// How often the free blocks of a carrier are read that changes meanwhile.
constexpr int kCarrierTries = 3;

records::Carrier record_of(const beam::CarrierPlace& carrier) {
    records::Carrier record;
    record.set_allocator(carrier.allocator);
    record.set_instance(carrier.instance);
    record.set_address(carrier.range.begin);
    record.set_bytes(carrier.range.bytes());
    record.set_single_block(carrier.single_block);
    record.set_pooled(carrier.pooled);
    record.set_mseg(carrier.mseg);
    record.set_blocks(carrier.blocks);
    record.set_block_bytes(carrier.block_bytes);
    return record;
}

void add_sizes(const beam::FreeBlocks& found, records::FreeBlocks& record) {
    for (std::size_t index = 0; index < beam::FreeBlocks::kClasses; ++index) {
        const auto& sizes = found.classes.at(index);
        if (sizes.count != 0) {
            auto& added = *record.add_sizes();
            added.set_from_bytes(std::uint64_t{1} << index);
            added.set_count(sizes.count);
            added.set_bytes(sizes.bytes);
        }
    }
    if (found.count != 0) {
        record.set_largest_bytes(found.largest);
    }
}

/// About how much is copied to read its free blocks.
double bytes_to_copy(const beam::CarrierPlace& carrier) {
    return static_cast<double>(std::min(
        carrier.range.bytes(), (carrier.blocks + 1) * beam::FreeBlockReader::kBytesOfAFarHeader));
}

using beam::AllocatorState;
using beam::CarrierPlace;

/// In the order of erlang:memory/0.
constexpr std::array kCategories = {"total",     "processes", "processes_used", "system", "atom",
                                    "atom_used", "binary",    "code",           "ets"};

class MemoryCapture {
  public:
    MemoryCapture(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                  const beam::Moving& moving, std::uint64_t free_block_bytes,
                  const BlocksWanted& blocks)
        : vm_(vm),
          writer_(writer),
          trailer_(trailer),
          moving_(moving),
          free_block_bytes_(free_block_bytes),
          blocks_(blocks) {}

    Result<void> write(const beam::AtomSpace& atoms) {
        for (const auto& sentence : vm_.tables().memory.not_found) {
            warn(sentence);
        }
        allocators();
        RETURN_IF_ERROR(append_allocators());
        amounts(atoms);
        carriers();
        segments();
        // Next to the carriers: what the node maps in between is in no carrier.
        for (auto& sentence : add_mapping_groups(vm_, parts_, system_)) {
            warn(sentence);
        }
        kernel_memory();
        mappers();
        RETURN_IF_ERROR(write_carriers());
        ASSIGN_OR_RETURN(const auto offset,
                         writer_.append(format::RecordKind::kSystemMemory, system_));
        trailer_.set_system_memory_offset(offset);
        return {};
    }

  private:
    void warn(std::string_view what) {
        trailer_.add_warning(fmt::format("the node's memory: {}", what));
    }

    Result<std::vector<AllocatorState>> read_allocators() {
        ASSIGN_OR_RETURN(auto reader, beam::AllocatorReader::open(vm_));
        ASSIGN_OR_RETURN(const auto places, reader.places());
        std::vector<AllocatorState> states;
        for (const auto& place : places) {
            ASSIGN_OR_RETURN(auto state, reader.state(place));
            states.push_back(std::move(state));
        }
        return states;
    }

    /// It changes more often than the counters, and belongs to none of them.
    void delayed() {
        auto reader = beam::AllocatorReader::open(vm_);
        for (auto& state : states_) {
            const auto added =
                reader ? reader->add_delayed(state) : Result<void>(std::unexpected(reader.error()));
            if (!added) {
                warn(added.error().message);
                return;
            }
        }
    }

    void allocators() {
        if (!vm_.tables().memory.allocators) {
            return;
        }
        auto states = beam::read_steadily(moving_, vm_, [this] { return read_allocators(); });
        if (!states) {
            warn(states.error().message);
            return;
        }
        states_ = std::move(*states);
        delayed();
        for (const auto& state : states_) {
            records_.push_back(state.record);
        }
    }

    Result<void> append_allocators() {
        records::Allocators page;
        for (const auto& record : records_) {
            *page.add_instance() = record;
            if (page.ByteSizeLong() >= limits::kAllocatorsOfAPageBytes) {
                RETURN_IF_ERROR(append(page));
            }
        }
        return page.instance_size() == 0 ? Result<void>() : append(page);
    }
    Result<void> append(records::Allocators& page) {
        auto done = append_noted(writer_, format::RecordKind::kAllocator, page,
                                 *trailer_.mutable_allocator_offset());
        page.Clear();
        return done;
    }

    void amounts(const beam::AtomSpace& atoms) {
        const auto areas =
            beam::read_areas(vm_, atoms, trailer_.totals().code_bytes(),
                             [this](const std::string& sentence) { warn(sentence); });
        for (const auto& [name, bytes] : areas) {
            auto& area = *system_.add_area();
            area.set_name(name);
            area.set_bytes(bytes);
        }
        const auto categories = beam::memory_categories(vm_.layout(), records_, areas);
        if (!records_.empty() && !categories.contains("total")) {
            warn("erlang:memory/0 is not known, as some allocators are switched off");
        }
        for (const auto* name : kCategories) {
            if (const auto found = categories.find(name); found != categories.end()) {
                auto& category = *system_.add_category();
                category.set_name(name);
                category.set_bytes(found->second);
            }
        }
    }

    /// Reads the carriers allocator by allocator: an unreadable list does not affect the others.
    void carriers() {
        for (auto first = states_.begin(); first != states_.end();) {
            const auto number = first->place.number;
            const auto last = std::find_if(first, states_.end(), [&](const AllocatorState& state) {
                return state.place.number != number;
            });
            auto found =
                beam::read_steadily(moving_, vm_, [&] { return carriers_of(first, last); });
            if (found) {
                add_carriers(number, *found);
                carriers_.push_back(std::move(*found));
            } else {
                warn(fmt::format("the carriers of {} are not known: {}", first->record.name(),
                                 found.error().message));
            }
            first = last;
        }
        std::ranges::sort(parts_, {}, [](const MappedPart& part) { return part.range.begin; });
    }

    /// What cannot be read is absent: a core does not have it, nor does every kernel.
    void kernel_memory() {
        const auto memory = vm_.target().kernel_memory();
        if (!memory) {
            return;
        }
        if (memory->lazy_free_bytes) {
            system_.set_lazy_free_bytes(*memory->lazy_free_bytes);
        }
        for (const auto& cgroup : memory->cgroups) {
            auto& record = *system_.add_cgroup();
            record.set_name(cgroup.name);
            const auto set = [&record](void (records::MemoryCgroup::*into)(std::uint64_t),
                                       const std::optional<std::uint64_t>& value) {
                if (value) {
                    (record.*into)(*value);
                }
            };
            set(&records::MemoryCgroup::set_used_bytes, cgroup.used_bytes);
            set(&records::MemoryCgroup::set_inactive_file_bytes, cgroup.inactive_file_bytes);
            set(&records::MemoryCgroup::set_limit_bytes, cgroup.limit_bytes);
            set(&records::MemoryCgroup::set_high_bytes, cgroup.high_bytes);
            set(&records::MemoryCgroup::set_swap_bytes, cgroup.swap_bytes);
            set(&records::MemoryCgroup::set_oom_kills, cgroup.oom_kills);
            set(&records::MemoryCgroup::set_limit_reached, cgroup.limit_reached);
        }
    }

    Result<void> write_carriers() {
        CarrierCapture capture(vm_, writer_, trailer_, system_, moving_);
        capture.limit(free_block_bytes_, carriers_);
        for (auto& found : carriers_) {
            RETURN_IF_ERROR(capture.write(found));
        }
        ASSIGN_OR_RETURN(const auto pointers, search_pointers());
        BlockCapture blocks(vm_, writer_, trailer_, system_, moving_, blocks_);
        for (auto& found : carriers_) {
            RETURN_IF_ERROR(blocks.write(name_of(found), found, pointers ? &*pointers : nullptr));
        }
        return {};
    }

    /// Words that are addresses in the blocks asked for. Terms of processes and tables are followed
    /// for references; what is behind them in their carriers was left over.
    Result<std::optional<PointerSearch>> search_pointers() {
        if (!blocks_.search_while) {
            return std::nullopt;
        }
        PointerSearch search;
        ASSIGN_OR_RETURN(auto reader, beam::UsedBlockReader::open(vm_, 0));
        std::set<std::uint32_t> of_terms;
        for (auto& found : carriers_) {
            const auto name = name_of(found);
            if (name == "eheap_alloc" || name == "ets_alloc") {
                of_terms.insert(found.front().allocator);
            }
            if (!blocks_.has(name)) {
                continue;
            }
            for (auto& carrier : found) {
                bool full = false;
                const auto read = reader.read(carrier, [&](const records::Block& block) {
                    auto added = search.add(block.address(), block.bytes());
                    full = !added;
                    return added;
                });
                if (full) {
                    warn(fmt::format("addresses of blocks were not searched for: {}",
                                     read.error().message));
                    return std::nullopt;
                }
            }
        }
        std::vector<memory::AddressRange> left_out;
        for (const auto& part : parts_) {
            if (!part.allocator || of_terms.contains(*part.allocator)) {
                left_out.push_back(part.range);
            }
        }
        auto& target = vm_.target();
        RETURN_IF_ERROR(
            search.search(target.memory(), target.mappings(), left_out, blocks_.search_while));
        return search;
    }

    /// Of the allocator whose carriers these are; empty where there are none.
    [[nodiscard]] std::string name_of(std::span<const CarrierPlace> carriers) const {
        const auto state = std::ranges::find_if(states_, [&](const AllocatorState& one) {
            return !carriers.empty() && one.place.number == carriers.front().allocator;
        });
        return state == states_.end() ? std::string() : state->record.name();
    }

    /// Reads the instances' list heads again, which may have changed, and then their carriers.
    Result<std::vector<CarrierPlace>> carriers_of(std::vector<AllocatorState>::iterator first,
                                                  std::vector<AllocatorState>::iterator last) {
        ASSIGN_OR_RETURN(auto reader, beam::AllocatorReader::open(vm_));
        std::vector<AllocatorState> now;
        for (; first != last; ++first) {
            ASSIGN_OR_RETURN(auto state, reader.state(first->place));
            now.push_back(std::move(state));
        }
        return beam::read_carriers(vm_, now);
    }

    void add_carriers(std::uint32_t number, const std::vector<CarrierPlace>& found) {
        auto& pages = *system_.add_carriers();
        pages.set_allocator(number);
        pages.set_carriers(found.size());
        pages.set_bytes(0);
        for (const auto& carrier : found) {
            pages.set_bytes(pages.bytes() + carrier.range.bytes());
            parts_.push_back({carrier.range, number});
        }
    }

    void segments() {
        const auto& memory = vm_.tables().memory;
        if (!memory.segment_allocators || states_.empty()) {
            return;
        }
        auto found = beam::read_steadily(moving_, vm_, [this] {
            return beam::read_segment_cache(vm_, vm_.facts().schedulers + 1);
        });
        if (!found) {
            warn(found.error().message);
            return;
        }
        auto& cache = *system_.mutable_segment_cache();
        cache.set_segments(found->size());
        cache.set_bytes(0);
        for (const auto& segment : *found) {
            cache.set_bytes(cache.bytes() + segment.bytes());
            parts_.push_back({segment, std::nullopt});
        }
        std::ranges::sort(parts_, {}, [](const MappedPart& part) { return part.range.begin; });
    }

    void mappers() {
        const auto& memory = vm_.tables().memory;
        const auto read = [this](std::optional<memory::Address> address,
                                 records::MemoryMapper* (records::SystemMemory::*into)()) {
            if (!address) {
                return;
            }
            if (auto mapper = beam::read_memory_mapper(vm_, *address)) {
                *(system_.*into)() = *mapper;
            } else {
                warn(mapper.error().message);
            }
        };
        read(memory.default_mapper, &records::SystemMemory::mutable_default_mapper);
        read(memory.literal_mapper, &records::SystemMemory::mutable_literal_mapper);
    }

    beam::Vm& vm_;
    DumpWriter& writer_;
    records::Trailer& trailer_;
    const beam::Moving& moving_;
    std::uint64_t free_block_bytes_;
    const BlocksWanted& blocks_;
    std::vector<AllocatorState> states_;
    std::vector<records::AllocatorInstance> records_;
    records::SystemMemory system_;
    std::vector<std::vector<CarrierPlace>> carriers_;  // of each allocator
    std::vector<MappedPart> parts_;
};

}  // namespace

CarrierCapture::CarrierCapture(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                               records::SystemMemory& system, const beam::Moving& moving)
    : vm_(vm), writer_(writer), trailer_(trailer), system_(system), moving_(moving), reader_(vm) {}

void CarrierCapture::limit(std::uint64_t bytes,
                           const std::vector<std::vector<beam::CarrierPlace>>& carriers) {
    double all = 0;
    for (const auto& of_an_allocator : carriers) {
        for (const auto& carrier : of_an_allocator) {
            all += carrier.single_block ? 0 : bytes_to_copy(carrier);
        }
    }
    const auto limit = static_cast<double>(bytes);
    share_ = all <= limit ? 1 : limit / all;
}

bool CarrierCapture::allows(const beam::CarrierPlace& carrier) {
    const auto bytes = bytes_to_copy(carrier);
    allowed_ += share_ * bytes;
    const bool allows = allowed_ >= bytes;
    allowed_ -= allows ? bytes : 0;
    return allows;
}

std::optional<beam::FreeBlocks> CarrierCapture::free_blocks(beam::CarrierPlace& carrier,
                                                            records::FreeBlocks& sums) {
    for (int attempt = 1;; ++attempt) {
        auto found = reader_.read(carrier);
        if (found) {
            return *found;
        }
        if (attempt == kCarrierTries || !moving_()) {
            if (found.error().code == ErrorCode::kImplausible) {
                sums.set_changed_carriers(sums.changed_carriers() + 1);
            } else {
                sums.set_unreadable_carriers(sums.unreadable_carriers() + 1);
            }
            return std::nullopt;
        }
        vm_.forget();
    }
}

Result<void> CarrierCapture::write(std::span<beam::CarrierPlace> carriers) {
    if (carriers.empty()) {
        return {};
    }
    auto& sums = *system_.add_free_blocks();
    sums.set_allocator(carriers.front().allocator);
    sums.set_carriers(0);
    sums.set_carrier_bytes(0);
    sums.set_read_carriers(0);
    sums.set_read_carrier_bytes(0);
    beam::FreeBlocks all;
    records::Carriers page;
    for (auto& carrier : carriers) {
        std::optional<beam::FreeBlocks> found;
        if (!carrier.single_block) {
            found = allows(carrier) ? free_blocks(carrier, sums) : std::nullopt;
            sums.set_carriers(sums.carriers() + 1);
            sums.set_carrier_bytes(sums.carrier_bytes() + carrier.range.bytes());
        }
        auto& record = *page.add_carrier() = record_of(carrier);
        if (found) {
            record.set_free_blocks(found->count);
            record.set_largest_free_bytes(found->largest);
            sums.set_read_carriers(sums.read_carriers() + 1);
            sums.set_read_carrier_bytes(sums.read_carrier_bytes() + carrier.range.bytes());
            all.add(*found);
        }
        if (page.carrier_size() == limits::kCarriersOfAPage || &carrier == &carriers.back()) {
            RETURN_IF_ERROR(append_noted(writer_, format::RecordKind::kCarriers, page,
                                         *trailer_.mutable_carriers_offset()));
            page.Clear();
        }
    }
    add_sizes(all, sums);
    return {};
}

Result<void> write_memory(beam::Vm& vm, DumpWriter& writer, records::Trailer& trailer,
                          const beam::AtomSpace& atoms, const beam::Moving& moving,
                          std::uint64_t free_block_bytes, const BlocksWanted& blocks) {
    return MemoryCapture(vm, writer, trailer, moving, free_block_bytes, blocks).write(atoms);
}

}  // namespace beamdump::capture
