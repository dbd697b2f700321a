#include "capture/copy/binary_store.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>

#include <xxhash.h>

#include <algorithm>
#include <functional>
#include <string_view>

namespace beamdump::capture {
namespace {

constexpr std::size_t kContentBatch = 1024;
/// The bytes of a part in a record besides its content.
constexpr std::size_t kPartBytes = 16;
/// Replaced binaries that are held until they are written, 16 bytes each: one for so many slots.
constexpr std::size_t kSlotsOfAReplaced = 8;

/// A fingerprint of size, flags, inline bytes and the numbers of a reference; never 0.
std::uint64_t fingerprint_of_record(const beam::BinaryView& binary) {
    const std::hash<std::string_view> hash;
    std::uint64_t fingerprint = hash(binary.facts.prefix());
    for (const std::uint64_t part :
         {binary.size, std::uint64_t{binary.facts.flags()}, binary.facts.magic() ? 1UL : 0UL}) {
        fingerprint = fingerprint * 0x9e3779b97f4a7c15U + part;
    }
    for (const auto number : binary.facts.magic_reference()) {
        fingerprint = fingerprint * 0x9e3779b97f4a7c15U + number;
    }
    return fingerprint | 1U;
}

}  // namespace

Result<BinaryStore> BinaryStore::open(beam::Vm& vm, RegionCopier& copier,
                                      std::optional<std::uint64_t> keep) {
    ASSIGN_OR_RETURN(auto reader, beam::BinaryReader::open(vm, keep, limits::kInlineBytes));
    return BinaryStore(std::move(reader), copier, vm.sizes().binary_slots, keep);
}

Result<void> BinaryStore::add(Address binary, std::span<const beam::ShownPart> parts) {
    if (binary == 0) {
        return {};
    }
    const bool first = known_.insert(binary);
    bool more = false;
    for (const auto& part : parts) {
        more |= parts_.want(binary, part);
    }
    if (!first && !more && !moving_) {
        return {};
    }
    waiting_.push_back(binary);
    if (waiting_.size() < kContentBatch && !known_.full()) {
        return {};
    }
    RETURN_IF_ERROR(settle());
    return known_.full() ? write_index() : Result<void>();
}

/// Distinguishes a binary from a later one at the same address: two with equal size, flags and
/// captured bytes are the same to a reader of the dump.
Result<std::uint64_t> BinaryStore::fingerprint_of(const beam::BinaryView& binary) {
    const auto fingerprint = fingerprint_of_record(binary);
    if (!binary.content_apart) {
        return fingerprint;
    }
    const auto content = copier_->digest(content_of(binary));
    return content ? Result<std::uint64_t>((fingerprint ^ *content) | 1U) : content;
}

RegionCopier::Request BinaryStore::content_of(const beam::BinaryView& binary) const {
    RegionCopier::Request request;
    request.owner_kind = format::OwnerKind::kBinary;
    request.owner_id = binary.address;
    request.kind = format::RegionKind::kBinaryContent;
    request.unit = format::RegionUnit::kBytes;
    request.address = binary.data;
    request.total = binary.wanted;
    request.is_part = binary.wanted < binary.size;
    return request;
}

Result<void> BinaryStore::write_content(beam::BinaryView& binary) {
    bool first = true;
    return copier_->copy(content_of(binary), [&](records::RegionRef& ref) {
        // If pages inside of the content are absent, the part before the first gap is kept.
        if (first && ref.address() == binary.data && ref.here() != 0) {
            binary.facts.set_content_offset(ref.offset());
            binary.facts.set_content_bytes(ref.here());
            binary.facts.set_content_striped(ref.striped());
        }
        first = false;
        return Result<void>();
    });
}

Result<void> BinaryStore::settle() {
    auto done = write_waiting();
    waiting_.clear();
    parts_.drop_wanted();
    // After a failure: data read but not written may belong to another binary at the next page.
    clear_page();
    return done;
}

void BinaryStore::drop() {
    if (moving_) {
        waiting_.clear();
        parts_.drop_wanted();
    }
}

Result<void> BinaryStore::write_waiting() {
    std::ranges::sort(waiting_);
    const auto repeated = std::ranges::unique(waiting_);
    waiting_.erase(repeated.begin(), repeated.end());
    ASSIGN_OR_RETURN(auto views, reader_.read(waiting_));
    for (auto& binary : views) {
        ASSIGN_OR_RETURN(const auto fingerprint,
                         moving_ ? fingerprint_of(binary) : Result<std::uint64_t>(0));
        bool same =
            moving_ ? is_written(binary.address, fingerprint) : known_.get(binary.address) != 0;
        ASSIGN_OR_RETURN(const auto last,
                         same ? last_parts(binary) : Result<std::optional<KeptParts::Written>>());
        same = same && last;
        const auto parts = parts_.next(binary.address, binary.facts.magic() ? 0 : binary.size,
                                       last.value_or(KeptParts::Written{}));
        if (same && parts == last->parts) {
            continue;
        }
        OnPage note{fingerprint, {}, same};
        ASSIGN_OR_RETURN(note.parts, read_parts(binary, parts, &binary.facts));
        if (binary.content_apart) {
            RETURN_IF_ERROR(ask_watch());
            RETURN_IF_ERROR(write_content(binary));
        }
        if (binary.facts.has_prefix()) {
            scrub_prefix(binary);
        }
        page_bytes_ += binary.facts.prefix().size() + limits::kEntryBytes + note.parts.bytes() +
                       note.parts.parts.size() * kPartBytes;
        *page_.add_binary() = std::move(binary.facts);
        on_page_.push_back(std::move(note));
        if (page_bytes_ >= limits::kPackBytes) {
            RETURN_IF_ERROR(flush_page());
        }
    }
    RETURN_IF_ERROR(flush_page());
    return replaced_.size() >= slots_ / kSlotsOfAReplaced ? write_replaced() : Result<void>();
}

void BinaryStore::scrub_prefix(beam::BinaryView& binary) const {
    const auto& secrets = copier_->secrets();
    auto& prefix = *binary.facts.mutable_prefix();
    secrets.scrub(prefix);
    if (prefix.size() < binary.size) {
        secrets.scrub_cut_end(std::as_writable_bytes(std::span(prefix)));
    }
}

/// Whether the binary is in the dump unchanged; otherwise its address held another one before.
bool BinaryStore::is_written(Address binary, std::uint64_t fingerprint) const {
    return known_.get(binary) != 0 && looks_[known_.slot_of(binary)].fingerprint == fingerprint;
}

/// The content of parts, into a record too if there is one. Parts of which bytes are absent end
/// before these.
Result<KeptParts::Written> BinaryStore::read_parts(const beam::BinaryView& binary,
                                                   std::span<const beam::ShownPart> parts,
                                                   records::Binary* into) {
    KeptParts::Written read;
    std::vector<memory::AddressRange> places;
    for (const auto& part : parts) {
        const auto begin = binary.data + part.first_byte;
        places.push_back({begin, begin + part.bytes});
    }
    ASSIGN_OR_RETURN(auto contents,
                     copier_->bytes(places, {binary.data, binary.data + binary.size}));
    for (std::size_t at = 0; at < parts.size(); ++at) {
        read.parts.push_back(parts[at]);
        read.hash = XXH64(contents[at].data(), contents[at].size(), read.hash);
        if (into != nullptr && !contents[at].empty()) {
            auto& added = *into->add_part();
            added.set_first_byte(parts[at].first_byte);
            added.set_content(std::move(contents[at]));
        }
    }
    return read;
}

Result<std::optional<KeptParts::Written>> BinaryStore::last_parts(const beam::BinaryView& binary) {
    auto last = parts_.last_of(binary.address);
    if (moving_ && !last.parts.empty()) {
        ASSIGN_OR_RETURN(const auto now, read_parts(binary, last.parts, nullptr));
        if (now.hash != last.hash) {
            return std::nullopt;
        }
    }
    return last;
}

/// Takes the binary that an address held `before`, with so many bytes of parts, out of the sums.
void BinaryStore::replace(const Look& before, std::uint64_t part_bytes) {
    --count_;
    bytes_ -= before.bytes;
    captured_bytes_ -= std::min(std::min(before.bytes, keep_.value_or(before.bytes)) + part_bytes,
                                captured_bytes_);
}

Result<void> BinaryStore::ask_watch() const {
    return moving_ && watch_ != nullptr ? (*watch_)() : Result<void>();
}

/// Only binaries in the dump are known: none is recorded before its page is written.
Result<void> BinaryStore::flush_page() {
    if (page_.binary_size() == 0) {
        return {};
    }
    RETURN_IF_ERROR(ask_watch());
    ASSIGN_OR_RETURN(auto offset, copier_->writer().append(format::RecordKind::kBinaries, page_));
    for (int index = 0; index < page_.binary_size(); ++index) {
        const auto& binary = page_.binary(index);
        auto& note = on_page_[static_cast<std::size_t>(index)];
        const auto address = binary.address();
        ++count_;
        bytes_ += binary.size_bytes();
        captured_bytes_ += binary.prefix().size() + binary.content_bytes() + note.parts.bytes();
        const auto slot = known_.slot_of(address);
        if (const auto before = known_.get(address); before != 0) {
            replaced_.emplace_back(address, before);
            times_replaced_ += note.same ? 0 : 1;
            replace(looks_[slot], parts_.last_of(address).bytes());
        }
        known_.set(address, offset);
        looks_[slot] = {note.fingerprint, binary.size_bytes()};
        parts_.set_last(address, std::move(note.parts));
    }
    clear_page();
    return {};
}

void BinaryStore::clear_page() {
    page_.Clear();
    on_page_.clear();
    page_bytes_ = 0;
}

Result<void> BinaryStore::write_index() {
    RETURN_IF_ERROR(write_run(known_.sort()));
    // From here on the former content of a binary that is referenced again is not known.
    ++times_replaced_;
    known_.clear();
    parts_.clear_written();
    std::ranges::fill(looks_, Look{});
    return {};
}

/// The replaced binaries, in runs that contain no address twice.
Result<void> BinaryStore::write_replaced() {
    std::ranges::stable_sort(replaced_, {}, &AddressMap::Entry::first);
    while (!replaced_.empty()) {
        std::vector<AddressMap::Entry> run;
        std::vector<AddressMap::Entry> rest;
        for (const auto& entry : replaced_) {
            const bool repeated = !run.empty() && run.back().first == entry.first;
            (repeated ? rest : run).push_back(entry);
        }
        RETURN_IF_ERROR(write_run(run));
        replaced_ = std::move(rest);
    }
    return {};
}

Result<void> BinaryStore::write_run(std::span<const AddressMap::Entry> entries) {
    return append_binary_index(copier_->writer(), run_++, entries, index_pages_);
}

Result<void> BinaryStore::finish(records::Trailer& trailer) {
    RETURN_IF_ERROR(settle());
    RETURN_IF_ERROR(write_index());
    RETURN_IF_ERROR(write_replaced());
    trailer.mutable_binary_pages()->Add(index_pages_.begin(), index_pages_.end());
    return {};
}

}  // namespace beamdump::capture
