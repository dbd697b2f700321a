#include "query/memory/blocks.h"

#include "query/facts/dump_facts.h"
#include "query/memory/allocators.h"
#include "query/memory/node_memory.h"
#include "query/process/process_line.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace beamdump::query {

namespace {

/// Beginnings of one group's blocks that are told apart; others are counted with none.
constexpr std::size_t kMostBeginnings = 256;

/// BIN_FLAG_MAGIC and BIN_FLAG_DRV (erl_binary.h, OTP 25 to 29).
constexpr std::uint32_t kMagic = 1;
constexpr std::uint32_t kOfDriver = 2;

std::string_view kind_of(const records::Block& block) {
    if (!block.has_flags()) {
        return "block";
    }
    return (block.flags() & kMagic) != 0      ? "magic"
           : (block.flags() & kOfDriver) != 0 ? "driver_binary"
                                              : "binary";
}

/// Sums up the blocks of one allocator.
class Sums {
  public:
    /// Who refers to a block, as far as that is known.
    enum class Referrer : std::uint8_t { kNone, kTerm, kPortQueue };
    using Key = std::tuple<std::string_view, std::optional<std::uint32_t>, std::uint64_t, Referrer>;
    struct Group {
        BlockGroup line;
        std::map<std::string, std::uint64_t> beginnings;
    };

    /// `found`: references to it; nothing: not known.
    void add(const records::Block& block, Referrer referrer, std::optional<std::uint64_t> found) {
        const auto tag = block.has_tag_atom() ? std::optional(block.tag_atom()) : std::nullopt;
        auto& group = groups_[{kind_of(block), tag, std::bit_floor(block.bytes()), referrer}];
        auto& line = group.line;
        line.referred_to = referrer == Referrer::kTerm;
        line.queued = referrer == Referrer::kPortQueue;
        if (line.blocks == 0) {
            line.example = block.address();
            if (block.has_tag_owner_id()) {
                line.example_owner = pid_text(block.tag_owner_id());
            } else if (block.has_tag_port_number()) {
                line.example_owner = port_text(block.tag_port_number());
            }
        }
        ++line.blocks;
        line.bytes += block.bytes();
        if (block.has_pointers() && referrer != Referrer::kTerm) {
            const bool lost = block.pointers() == 0;
            line.lost_blocks = line.lost_blocks.value_or(0) + (lost ? 1 : 0);
            line.lost_bytes = line.lost_bytes.value_or(0) + (lost ? block.bytes() : 0);
        }
        if (block.has_references()) {
            const auto references = block.references();
            line.least_references =
                std::min(line.least_references.value_or(references), references);
            line.most_references = std::max(line.most_references.value_or(references), references);
            if (found) {
                line.least_found = std::min(line.least_found.value_or(*found), *found);
                line.most_found = std::max(line.most_found.value_or(*found), *found);
            }
        }
        const auto known = group.beginnings.find(block.first_bytes());
        if (known != group.beginnings.end()) {
            ++known->second;
        } else if (!block.first_bytes().empty() && group.beginnings.size() < kMostBeginnings) {
            group.beginnings.emplace(block.first_bytes(), 1);
        }
    }

    std::vector<BlockGroup> take(Dump& dump, std::uint64_t limit) {
        std::vector<BlockGroup> lines;
        for (auto& [key, group] : groups_) {
            auto& line = group.line;
            line.kind = std::get<0>(key);
            if (const auto tag = std::get<1>(key)) {
                line.asked_by = atom_text(dump, *tag);
            }
            line.from_bytes = std::get<2>(key);
            const auto most = std::ranges::max_element(
                group.beginnings, {}, [](const auto& beginning) { return beginning.second; });
            if (most != group.beginnings.end()) {
                line.first_bytes = most->first;
                line.begin_so = most->second;
            }
            lines.push_back(std::move(line));
        }
        std::ranges::stable_sort(lines, std::ranges::greater{}, &BlockGroup::bytes);
        if (limit != 0 && lines.size() > limit) {
            lines.resize(limit);
        }
        return lines;
    }

    [[nodiscard]] std::size_t size() const { return groups_.size(); }

  private:
    std::map<Key, Group> groups_;
};

/// Of one allocator, while its pages are read.
struct Reading {
    AllocatorBlocks answer;
    std::set<std::uint64_t> left_out;  ///< passes
    bool of_binaries = false;
    Sums sums;
};

/// Binaries in the queues of ports, by the address of the structure. nullopt: the dump does not
/// list them.
Result<std::optional<std::unordered_set<std::uint64_t>>> queued_binaries(Dump& dump) {
    std::optional<std::unordered_set<std::uint64_t>> addresses;
    for (const auto offset : dump.trailer().ports_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Ports>(
                                              offset, format::RecordKind::kPorts));
        for (const auto& port : page.port()) {
            if (port.has_queued_binaries()) {
                auto& known = addresses ? *addresses : addresses.emplace();
                known.insert(port.queued_binary_address().begin(),
                             port.queued_binary_address().end());
            }
        }
    }
    return addresses;
}

Result<void> add_page(Dump& dump, const records::Blocks& page, Reading& reading,
                      const ReferenceNumbers* found,
                      const std::optional<std::unordered_set<std::uint64_t>>& queued) {
    if (reading.left_out.contains(page.pass())) {
        return {};
    }
    auto& answer = reading.answer;
    for (const auto& block : page.block()) {
        ++answer.blocks;
        answer.bytes += block.bytes();
        bool reached = false;
        if (reading.of_binaries) {
            ASSIGN_OR_RETURN(reached, dump.binaries().contains(block.address()));
        }
        if (!reached) {
            if (answer.lost_blocks && block.has_pointers() && block.pointers() == 0) {
                *answer.lost_blocks += 1;
                *answer.lost_bytes += block.bytes();
            }
            const bool in_queue =
                answer.queued_blocks && queued && queued->contains(block.address());
            if (in_queue) {
                *answer.queued_blocks += 1;
                *answer.queued_bytes += block.bytes();
            }
            reading.sums.add(
                block, in_queue ? Sums::Referrer::kPortQueue : Sums::Referrer::kNone,
                answer.differing_blocks ? std::optional<std::uint64_t>(0) : std::nullopt);
            continue;
        }
        *answer.reached_blocks += 1;
        *answer.reached_bytes += block.bytes();
        if (answer.differing_blocks && block.has_references()) {
            const auto known = found->find(block.address());
            const auto references = known == found->end() ? 0 : known->second;
            if (references != block.references()) {
                *answer.differing_blocks += 1;
                *answer.differing_bytes += block.bytes();
                reading.sums.add(block, Sums::Referrer::kTerm, references);
            }
        }
    }
    return {};
}

}  // namespace

Result<bool> has_blocks_of_one_moment(Dump& dump) {
    ASSIGN_OR_RETURN(const auto node, node_memory(dump));
    const auto& sums = node.system.block_sums();
    return !sums.empty() && std::ranges::none_of(sums, &records::BlockSums::moving);
}

Result<Blocks> blocks_in_use(Dump& dump, std::uint64_t limit, const ReferenceNumbers* found) {
    ASSIGN_OR_RETURN(const auto node, node_memory(dump));
    if (node.system.block_sums_size() == 0) {
        return fail(ErrorCode::kNotFound,
                    "the dump has no blocks of allocators: it was captured without --blocks");
    }
    const auto lines = allocator_lines(node, false);
    ASSIGN_OR_RETURN(const auto queued, queued_binaries(dump));
    std::map<std::uint32_t, Reading> readings;
    for (const auto& sums : node.system.block_sums()) {
        auto& reading = readings[sums.allocator()];
        auto& answer = reading.answer;
        const auto instance = std::ranges::find(node.allocators, sums.allocator(),
                                                &records::AllocatorInstance::number);
        answer.allocator = instance == node.allocators.end()
                               ? fmt::format("allocator {}", sums.allocator())
                               : instance->name();
        answer.carriers = sums.carriers();
        answer.read_carriers = sums.read_carriers();
        answer.changed_carriers = sums.changed_carriers();
        answer.unreadable_carriers = sums.unreadable_carriers();
        answer.moving = sums.moving();
        if (sums.has_searched_bytes() && !answer.moving) {
            answer.lost_blocks = 0;
            answer.lost_bytes = 0;
            answer.searched_bytes = sums.searched_bytes();
            answer.unsearched_bytes = sums.unreadable_bytes();
        }
        reading.left_out.insert(sums.left_out_pass().begin(), sums.left_out_pass().end());
        reading.of_binaries = answer.allocator == "binary_alloc";
        if (reading.of_binaries) {
            answer.reached_blocks = 0;
            answer.reached_bytes = 0;
            if (queued) {
                answer.queued_blocks = 0;
                answer.queued_bytes = 0;
            }
        }
        if (reading.of_binaries && found != nullptr && !answer.moving) {
            answer.differing_blocks = 0;
            answer.differing_bytes = 0;
        }
        const auto line = std::ranges::find(lines, answer.allocator, &AllocatorLine::name);
        if (line != lines.end()) {
            answer.counted_blocks = line->blocks;
            answer.counted_bytes = line->block_bytes;
        }
    }
    for (const auto offset : dump.trailer().blocks_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::Blocks>(
                                              offset, format::RecordKind::kBlocks));
        if (const auto reading = readings.find(page.allocator()); reading != readings.end()) {
            RETURN_IF_ERROR(add_page(dump, page, reading->second, found, queued));
        }
    }
    Blocks blocks;
    blocks.processes_left_out = dump.trailer().totals().processes_void();
    for (auto& [number, reading] : readings) {
        reading.answer.group_count = reading.sums.size();
        reading.answer.groups = reading.sums.take(dump, limit);
        blocks.allocators.push_back(std::move(reading.answer));
    }
    return blocks;
}

}  // namespace beamdump::query
