#include "capture/binary_store.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace beamdump::capture {
namespace {

constexpr std::size_t kBatch = 1024;
constexpr std::uint64_t kInlineBytes = 32U << 10U;
constexpr std::size_t kPageBytes = 96U << 10U;
constexpr std::size_t kIndexPageEntries = 8192;
constexpr std::size_t kMostReplaced = 64U << 10U;  // held until they are written: 16 bytes each

/// Tells one binary from another that came to stand in its place: by size, flags, the first bytes
/// that are kept and a reference's numbers; never 0. Two that agree in all these pass for one.
std::uint64_t print_of(const beam::BinaryView& binary) {
    const std::hash<std::string_view> hash;
    std::uint64_t print = hash(binary.facts.prefix());
    for (const std::uint64_t part :
         {binary.size, std::uint64_t{binary.facts.flags()}, binary.facts.magic() ? 1UL : 0UL}) {
        print = print * 0x9e3779b97f4a7c15U + part;
    }
    for (const auto number : binary.facts.magic_reference()) {
        print = print * 0x9e3779b97f4a7c15U + number;
    }
    return print | 1U;
}

}  // namespace

Result<BinaryStore> BinaryStore::open(beam::Vm& vm, RegionCopier& copier,
                                      std::optional<std::uint64_t> keep,
                                      RegionCopier::Scrub scrub) {
    auto reader = beam::BinaryReader::open(vm, keep, kInlineBytes);
    if (!reader) {
        return std::unexpected(reader.error());
    }
    return BinaryStore(std::move(*reader), copier, std::move(scrub));
}

Result<void> BinaryStore::add(Address binary) {
    if (binary == 0 || (!known_.insert(binary) && !moving_)) {
        return {};
    }
    waiting_.push_back(binary);
    if (waiting_.size() < kBatch && !known_.full()) {
        return {};
    }
    if (auto done = write_waiting(); !done) {
        return done;
    }
    return known_.full() ? write_index() : Result<void>();
}

Result<void> BinaryStore::write_content(beam::BinaryView& binary) {
    RegionCopier::Request request;
    request.owner_kind = format::OwnerKind::kBinary;
    request.owner_id = binary.address;
    request.kind = format::RegionKind::kBinaryContent;
    request.unit = format::RegionUnit::kBytes;
    request.address = binary.data;
    request.total = binary.wanted;
    request.scrub = &scrub_;
    bool first = true;
    return copier_->copy(request, [&](records::RegionRef& ref) {
        // Of a content with absent pages inside, the part before the first gap is kept.
        if (first && ref.address() == binary.data && ref.here() != 0) {
            binary.facts.set_content_offset(ref.offset());
            binary.facts.set_content_bytes(ref.here());
            binary.facts.set_content_striped(ref.striped());
        }
        first = false;
        return Result<void>();
    });
}

Result<void> BinaryStore::write_waiting() {
    std::ranges::sort(waiting_);
    const auto repeated = std::ranges::unique(waiting_);
    waiting_.erase(repeated.begin(), repeated.end());
    auto views = reader_.read(waiting_);
    if (!views) {
        return std::unexpected(views.error());
    }
    for (auto& binary : *views) {
        if (moving_ && is_written(binary)) {
            continue;
        }
        if (binary.content_apart) {
            if (auto done = write_content(binary); !done) {
                return done;
            }
        }
        if (binary.facts.has_prefix()) {
            scrub_(std::as_writable_bytes(std::span(*binary.facts.mutable_prefix())));
        }
        ++count_;
        bytes_ += binary.size;
        captured_bytes_ += binary.facts.prefix().size() + binary.facts.content_bytes();
        page_bytes_ += binary.facts.prefix().size() + 64;
        *page_.add_binary() = std::move(binary.facts);
        if (page_bytes_ >= kPageBytes) {
            if (auto done = flush_page(); !done) {
                return done;
            }
        }
    }
    waiting_.clear();
    if (replaced_.size() >= kMostReplaced) {
        if (auto done = write_replaced(); !done) {
            return done;
        }
    }
    return flush_page();
}

void BinaryStore::set_moving(bool moving) {
    moving_ = moving;
    if (moving && !prints_) {
        prints_.emplace(kSlots);
    }
}

/// Whether the binary stands in the dump as it is; else what stood at its address is another.
bool BinaryStore::is_written(const beam::BinaryView& binary) {
    const auto print = print_of(binary);
    const auto offset = known_.get(binary.address);
    if (offset != 0 && prints_->get(binary.address) == print) {
        return true;
    }
    if (offset != 0) {
        replaced_.emplace_back(binary.address, offset);
    }
    prints_->insert(binary.address);
    prints_->set(binary.address, print);
    return false;
}

Result<void> BinaryStore::flush_page() {
    if (page_.binary_size() == 0) {
        return {};
    }
    auto offset = copier_->writer().append(format::RecordKind::kBinaries, page_);
    if (!offset) {
        return std::unexpected(offset.error());
    }
    for (const auto& binary : page_.binary()) {
        known_.set(binary.address(), *offset);
    }
    page_.Clear();
    page_bytes_ = 0;
    return {};
}

Result<void> BinaryStore::write_index() {
    if (auto done = write_run(known_.sort()); !done) {
        return done;
    }
    known_.clear();
    if (prints_) {
        prints_->clear();
    }
    return {};
}

/// Those that were replaced, in runs without an address twice.
Result<void> BinaryStore::write_replaced() {
    std::ranges::stable_sort(replaced_, {}, &AddressMap::Entry::first);
    while (!replaced_.empty()) {
        std::vector<AddressMap::Entry> run;
        std::vector<AddressMap::Entry> rest;
        for (const auto& entry : replaced_) {
            const bool repeated = !run.empty() && run.back().first == entry.first;
            (repeated ? rest : run).push_back(entry);
        }
        if (auto done = write_run(run); !done) {
            return done;
        }
        replaced_ = std::move(rest);
    }
    return {};
}

Result<void> BinaryStore::write_run(std::span<const AddressMap::Entry> entries) {
    for (std::size_t first = 0; first < entries.size(); first += kIndexPageEntries) {
        const auto last = std::min(first + kIndexPageEntries, entries.size());
        records::BinaryIndexPage page;
        page.set_run(run_);
        for (std::size_t index = first; index < last; ++index) {
            page.add_address(entries[index].first);
            page.add_record_offset(entries[index].second);
        }
        auto offset = copier_->writer().append(format::RecordKind::kBinaryIndexPage, page);
        if (!offset) {
            return std::unexpected(offset.error());
        }
        auto& ref = index_pages_.emplace_back();
        ref.set_run(run_);
        ref.set_lowest_address(entries[first].first);
        ref.set_highest_address(entries[last - 1].first);
        ref.set_count(last - first);
        ref.set_offset(*offset);
    }
    ++run_;
    return {};
}

Result<void> BinaryStore::finish(records::Trailer& trailer) {
    if (auto done = write_waiting(); !done) {
        return done;
    }
    if (auto done = write_index(); !done) {
        return done;
    }
    if (auto done = write_replaced(); !done) {
        return done;
    }
    for (const auto& page : index_pages_) {
        *trailer.add_binary_pages() = page;
    }
    return {};
}

}  // namespace beamdump::capture
