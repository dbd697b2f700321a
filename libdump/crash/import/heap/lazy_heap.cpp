#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/heap/lazy_heap.h>
#include <libdump/crash/import/words/word_regions.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace beamdump::crash {

Result<void> LazyHeap::open(Span section) {
    ASSIGN_OR_RETURN(auto lines,
                     HeapLines::find(dump_.text(), section, node_.format, image_, dump_.budget()));
    lines_ = std::move(lines);
    parts_read_.resize(lines_->parts());
    return {};
}

Result<void> LazyHeap::read_part(std::uint64_t number) {
    const auto lines = lines_->part(number);
    TextCursor text(dump_.text(), lines.begin, lines.end);
    HeapParser objects(
        node_.format, node_.names, image_, node_.literals,
        [this](std::uint64_t address) { return dump_.binary(address) != nullptr; },
        HeapParser::Starts::kKnown);
    ASSIGN_OR_RETURN(auto counts, objects.read(text));
    // Beyond the limit of the list, all are counted.
    for (const auto& object : counts.left_out) {
        if (left_out_.size() < HeapCounts::kMaxListed) {
            left_out_.emplace(object.address, object);
        } else {
            object.count(met_);
        }
    }
    lines_met_.add(counts.lines);
    parts_read_[number] = true;
    return {};
}

Result<void> LazyHeap::read_rest() {
    for (std::uint64_t number = 0; number < parts_read_.size(); ++number) {
        if (!parts_read_[number]) {
            RETURN_IF_ERROR(read_part(number));
        }
    }
    for (const auto& [address, object] : std::exchange(left_out_, {})) {
        object.count(met_);
    }
    met_.add(std::exchange(lines_met_, {}));
    return {};
}

void LazyHeap::missed(std::uint64_t address) {
    if (const auto found = left_out_.find(address); found != left_out_.end()) {
        found->second.count(met_);
        // Reported once.
        left_out_.erase(found);
    }
}

Result<void> LazyHeap::read_page(std::uint64_t page) {
    if (page == last_page_ || !lines_) {
        return {};
    }
    for (const auto& place : lines_->parts_of(page)) {
        if (!parts_read_[place.part]) {
            RETURN_IF_ERROR(read_part(place.part));
        }
    }
    last_page_ = page;
    return {};
}

Result<std::size_t> LazyHeap::words(std::uint64_t address, std::span<std::uint64_t> into) {
    constexpr std::uint64_t kPageBytes = WordImage::kBlockWords * WordImage::kWordBytes;
    const Objects objects{image_, node_.literals, node_.names};
    std::size_t given = 0;
    while (given < into.size()) {
        const auto at = address + given * WordImage::kWordBytes;
        RETURN_IF_ERROR(read_page(at / kPageBytes));
        const auto in_page = (kPageBytes - at % kPageBytes) / WordImage::kWordBytes;
        part_.resize(std::min<std::uint64_t>(into.size() - given, in_page));
        ASSIGN_OR_RETURN(const auto count, image_.read_present(at, part_));
        for (std::size_t index = 0; index < count; ++index) {
            into[given++] = final_word(part_[index], objects, node_.format.words);
        }
        if (count < part_.size()) {
            break;
        }
    }
    return given != 0
               ? Result<std::size_t>(given)
               : fail(ErrorCode::kUnmapped,
                      fmt::format("no line of the crash dump has the word at {:#x}", address));
}

}  // namespace beamdump::crash
