#include "capture/copy/contents_ahead.h"

#include <libdump/base/return_if_error.h>

#include <algorithm>
#include <array>
#include <utility>

namespace beamdump::capture {
namespace {

constexpr std::size_t kLargestContents = 64U << 10U;

}  // namespace

void ContentsAhead::add(beam::Address address, std::size_t bytes) {
    if (bytes != 0) {
        reads_.push_back({address, std::span(bytes_).subspan(used_, bytes), false});
        used_ += bytes;
    }
}

void ContentsAhead::plan(std::span<const std::byte> structure, const beam::ProcessReader& reader,
                         Contents& contents) {
    contents = {.first_read = reads_.size(), .parts = std::move(contents.parts)};
    if (structure.empty()) {
        return;
    }
    const beam::StructView view(structure);
    const auto areas = reader.areas_of(view);
    if (!areas) {
        return;
    }
    const std::array spans = {areas->stack, areas->heap, areas->old_heap};
    const auto heads = reader.heads_of(view);
    std::uint64_t total = 0;
    for (const auto& span : spans) {
        total += span.words() * 8;
    }
    for (const auto& head : heads) {
        total += head.words() * 8;
    }
    if (total > kLargestContents || total > bytes_.size() - used_) {
        return;
    }
    contents.here = true;
    for (const auto& span : spans) {
        add(span.begin, span.words() * 8);
    }
    contents.areas = reads_.size() - contents.first_read;
    for (const auto& head : heads) {
        add(head.begin, head.words() * 8);
    }
    contents.reads = reads_.size() - contents.first_read;
}

Result<void> ContentsAhead::read(memory::MemorySource& source, const beam::ProcessReader& reader,
                                 std::span<const std::span<const std::byte>> structures) {
    bytes_.resize(reader.sizes().contents_bytes);
    used_ = 0;
    reads_.clear();
    contents_.resize(std::max(contents_.size(), structures.size()));
    for (std::size_t i = 0; i < structures.size(); ++i) {
        plan(structures[i], reader, contents_[i]);
    }
    RETURN_IF_ERROR(merged_.read(source, reads_));
    for (auto& contents : std::span(contents_).first(structures.size())) {
        contents.parts.clear();
        const auto reads = std::span(reads_).subspan(contents.first_read, contents.reads);
        contents.here &= std::ranges::all_of(reads.first(contents.areas), &memory::BatchRead::done);
        for (const auto& one : reads) {
            if (one.done) {
                contents.parts.push_back({{one.address, one.address + one.into.size()}, one.into});
            }
        }
    }
    return {};
}

const std::vector<memory::HeldPart>* ContentsAhead::of(std::size_t index) const {
    return contents_[index].here ? &contents_[index].parts : nullptr;
}

}  // namespace beamdump::capture
