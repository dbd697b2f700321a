#include "capture/copy/row_writer.h"

#include <libdump/base/return_if_error.h>
#include <libdump/write/append.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/layout/term_bits.h>

#include <algorithm>
#include <cstring>

namespace beamdump::capture {
namespace {

constexpr std::uint64_t kWord = 8;
constexpr std::uint64_t kPackedWords = 4096;  // more are a region of their own
// A record's directory is one page: limits::kDirectoryReferences.
constexpr std::uint64_t kWordsOfARecord = std::uint64_t{2} << 20U;
constexpr std::uint64_t kRegionsOfARecord = 512;

}  // namespace

RowWriter::RowWriter(beam::Vm& vm, RegionCopier& copier, BinaryStore& binaries, Owner owner,
                     bool moving, Finish finish)
    : copier_(copier),
      binaries_(binaries),
      owner_(owner),
      moving_(moving),
      finish_(std::move(finish)),
      names_(vm.layout()),
      thing_(names_.field(beam::runtime::OffHeapHeader::thing_word)),
      next_(names_.field(beam::runtime::OffHeapHeader::next)),
      reference_(names_) {
    records_.emplace(copier_.writer());
    // One could be opened in check().
    if (auto shown = beam::ShownParts::open(vm)) {
        shown_.emplace(std::move(*shown));
    }
}

Result<void> RowWriter::check(beam::Vm& vm) {
    ASSIGN_OR_RETURN(const auto shown, beam::ShownParts::open(vm));
    beam::LayoutNames names(vm.layout());
    names.field(beam::runtime::OffHeapHeader::thing_word);
    names.field(beam::runtime::OffHeapHeader::next);
    const beam::BinaryReferenceFields reference(names);
    return names.outcome();
}

bool RowWriter::binaries_of(const beam::EtsRow& row, std::vector<Named>& into) {
    const auto end = row.tuple + row.words.size();
    if (shown_ && binaries_.keeps_parts() && row.off_heap != 0) {
        shown_->clear();
        shown_->look(row.tuple, row.words);
    }
    std::uint64_t members = 0;
    for (auto at = row.off_heap; at != 0;) {
        const auto word = [&](const beam::Field& field) {
            std::uint64_t value = 0;
            std::memcpy(&value, row.words.data() + (at - row.tuple) + field.offset, kWord);
            return value;
        };
        const auto has = [&](const beam::Field& field) {
            return at >= row.tuple && at <= end && end - at >= field.offset + kWord;
        };
        if (!has(thing_) || !has(next_) || ++members > row.words.size()) {
            return false;
        }
        const auto tag = word(thing_) & beam::kHeaderTagMask;
        const auto* field = tag == reference_.subtag         ? &reference_.binary
                            : tag == reference_.magic_subtag ? &reference_.magic_binary
                                                             : nullptr;
        const bool shows = field == &reference_.binary && reference_.content && reference_.size;
        if (field != nullptr &&
            (!has(*field) || (shows && (!has(*reference_.content) || !has(*reference_.size))))) {
            return false;
        }
        if (field != nullptr) {
            const beam::BinaryReference reference{at, word(*field),
                                                  shows ? word(*reference_.content) : 0,
                                                  shows ? word(*reference_.size) : 0};
            auto& named = into.emplace_back(Named{reference.binary, {}});
            if (shown_) {
                const auto parts = shown_->of(reference);
                named.parts.assign(parts.begin(), parts.end());
            }
        }
        at = word(next_);
    }
    return true;
}

/// Writes the binaries that rows name; false if these are no longer the `same`.
Result<bool> RowWriter::add_binaries(const std::vector<Named>& named,
                                     const std::function<Result<bool>()>& same) {
    const BinaryStore::Watch watch = [&same]() -> Result<void> {
        ASSIGN_OR_RETURN(const auto unchanged, same());
        return unchanged ? Result<void>() : fail(ErrorCode::kChanged, "the rows have changed");
    };
    binaries_.set_watch(&watch);
    const auto written = [&]() -> Result<void> {
        for (const auto& [binary, parts] : named) {
            RETURN_IF_ERROR(binaries_.add(binary, parts));
        }
        return binaries_.settle();
    }();
    binaries_.set_watch(nullptr);
    if (written) {
        return same();
    }
    return written.error().code == ErrorCode::kChanged ? Result<bool>(false)
                                                       : std::unexpected(written.error());
}

Result<bool> RowWriter::add(std::span<const beam::EtsRow> rows,
                            const std::function<Result<bool>()>& same) {
    std::vector<Named> named;
    for (const auto& row : rows) {
        if (!binaries_of(row, named)) {
            return false;
        }
    }
    const auto before = copier_.writer().stats().flat_bytes;
    const auto replaced = binaries_.replaced();
    if (!named.empty()) {
        // A binary lives as long as the row that refers to it.
        ASSIGN_OR_RETURN(const auto unchanged, add_binaries(named, same));
        if (binaries_.replaced() != replaced && rows_ != 0) {
            // From here on the address refers to another binary than in earlier rows.
            binaries_before_ = before;
            RETURN_IF_ERROR(flush());
        }
        if (!unchanged) {
            return false;
        }
    }
    for (const auto& row : rows) {
        RETURN_IF_ERROR(write(row));
    }
    binaries_before_ = copier_.writer().stats().flat_bytes;
    if (words_ >= kWordsOfARecord || rows_ >= owner_.most_rows || regions_ >= kRegionsOfARecord) {
        RETURN_IF_ERROR(flush());
    }
    return true;
}

/// Within one part an address refers to one object: begins a new part if the block of an earlier
/// row was freed and now holds another row.
Result<void> RowWriter::begin_unless_free(const beam::EtsRow& row) {
    if (!moving_ || here_.add(row.tuple, row.words.size())) {
        return {};
    }
    binaries_before_ = copier_.writer().stats().flat_bytes;
    RETURN_IF_ERROR(flush());
    here_.add(row.tuple, row.words.size());
    return {};
}

Result<void> RowWriter::write(const beam::EtsRow& row) {
    RETURN_IF_ERROR(begin_unless_free(row));
    const auto words = row.words.size() / kWord;
    ++rows_;
    words_ += words;
    if (words > kPackedWords) {
        std::vector<std::byte> copy(row.words.begin(), row.words.end());
        return write_region(row, copy);
    }
    packed_.set_kind(static_cast<std::uint32_t>(owner_.region));
    packed_.set_address(row.tuple);
    packed_.set_total_words(words);
    if (row.off_heap != 0) {
        packed_.set_off_heap_first_address(row.off_heap);
    }
    auto& into = *packed_.mutable_words();
    into.Resize(static_cast<int>(words), 0);
    const auto bytes = std::as_writable_bytes(std::span(into.mutable_data(), words));
    std::ranges::copy(row.words.first(bytes.size()), bytes.begin());
    copier_.scrub_words(bytes, row.tuple);
    return records_->packed_region(packed_);
}

Result<void> RowWriter::write_region(const beam::EtsRow& row, std::span<std::byte> bytes) {
    ++regions_;
    copier_.scrub_words(bytes, row.tuple);
    format::RegionHeader header;
    header.owner_kind = owner_.kind;
    header.owner_id = owner_.id;
    header.region_kind = owner_.region;
    header.term_scheme = copier_.scheme();
    header.address = row.tuple;
    header.total = bytes.size() / kWord;
    ASSIGN_OR_RETURN(
        const auto placed,
        copier_.writer().append_region(header, [&](std::uint64_t first, std::span<std::byte> into) {
            const auto part = bytes.subspan(first * kWord, into.size());
            std::ranges::copy(part, into.begin());
            return Result<std::uint64_t>(into.size() / kWord);
        }));
    auto ref = region_ref(header, placed);
    if (row.off_heap != 0) {
        ref.set_off_heap_first_address(row.off_heap);
    }
    return records_->region(std::move(ref));
}

Result<void> RowWriter::flush() {
    Part part;
    part.first_row = written_;
    part.rows = rows_;
    part.binaries_before_offset = binaries_before_;
    RETURN_IF_ERROR(records_->finish(part.directory));
    RETURN_IF_ERROR(finish_(std::move(part)));
    written_ += rows_;
    rows_ = words_ = regions_ = 0;
    here_.clear();
    records_.emplace(copier_.writer());
    return {};
}

}  // namespace beamdump::capture
