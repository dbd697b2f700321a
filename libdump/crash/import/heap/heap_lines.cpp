#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/heap/heap_lines.h>

#include <algorithm>

namespace beamdump::crash {
namespace {

constexpr std::uint64_t kBlockBytes = WordImage::kBlockWords * WordImage::kWordBytes;
constexpr std::uint64_t kMemoryBytes = 64U << 20U;

struct Object {
    ObjectStart start = ObjectStart::kNone;
    std::uint64_t words = 0;  ///< at least the object's
};

/// The beginning of a line after the colon.
struct LineStart {
    char kind = '\0';
    char detail = '\0';
    std::uint64_t size = 0;
};

LineStart take_start(TextCursor& text) {
    LineStart start;
    start.kind = text.peek();
    text.skip(1);
    if (start.kind == 't') {
        start.size = text.take_hex().value_or(0);
    } else if (start.kind == 'Y') {
        start.detail = text.peek();
    }
    return start;
}

/// Kind and size of a line's object (erl_process_dump.c, heap_dump()). `bytes`: of the line, an
/// upper bound for objects whose size is not at its beginning.
Object object_of(const LineStart& start, std::uint64_t bytes) {
    // More than any kind of fixed size has.
    constexpr std::uint64_t kFixed = 8;
    constexpr std::uint64_t kTextPerWord = 8;
    switch (start.kind) {
        case 'l':
        case 'F':
            return {start.kind == 'l' ? ObjectStart::kCell : ObjectStart::kBoxed, 2};
        case 't':
            return {ObjectStart::kBoxed, 1 + std::min(start.size, bytes)};
        case 'M':
            // A value takes at least a comma; the largest large map's node has 18 words.
            return {ObjectStart::kBoxed, kFixed + bytes};
        case 'Y':
            return {ObjectStart::kBoxed,
                    start.detail == 'h' ? kFixed + bytes / kTextPerWord : kFixed};
        case 'B':
        case 'E':
            return {ObjectStart::kBoxed, kFixed + bytes / kTextPerWord};
        case 'P':
        case 'p':
            return {ObjectStart::kBoxed, kFixed};
        default:
            return {};
    }
}

}  // namespace

HeapLines::HeapLines(Span section, Budget& budget)
    : section_(section),
      budget_(budget),
      space_({.max_memory_bytes = kMemoryBytes, .max_file_bytes = budget.temporary_left()}),
      places_(&space_) {}

HeapLines::~HeapLines() {
    budget_.give_temporary(file_bytes_);
}

void HeapLines::add(std::uint64_t at, std::uint64_t words) {
    const auto last = (at + (words - 1) * WordImage::kWordBytes) / kBlockBytes;
    for (auto page = at / kBlockBytes; page <= last; ++page) {
        // The objects of neighbouring lines are on few pages.
        constexpr std::size_t kRecent = 4;
        const auto recent = std::min(kRecent, pages_.size());
        if (std::find(pages_.end() - static_cast<std::ptrdiff_t>(recent), pages_.end(), page) ==
            pages_.end()) {
            pages_.push_back(page);
        }
    }
}

Result<void> HeapLines::end_part() {
    std::ranges::sort(pages_);
    const auto doubles = std::ranges::unique(pages_);
    pages_.erase(doubles.begin(), doubles.end());
    for (const auto page : pages_) {
        RETURN_IF_ERROR(places_.push_back({page, begins_.size() - 1}));
    }
    pages_.clear();
    return {};
}

Result<std::unique_ptr<HeapLines>> HeapLines::find(const TextSource& source, Span section,
                                                   const TextFormat& format, WordImage& image,
                                                   Budget& budget) {
    std::unique_ptr<HeapLines> lines(new HeapLines(section, budget));
    TextCursor text(source, section.begin, section.end);
    while (!text.at_end()) {
        RETURN_IF_ERROR(budget.check_memory());
        const auto begin = text.position();
        if (lines->begins_.empty()) {
            lines->begins_.push_back(begin);
        }
        const auto address = text.take_hex();
        const auto at = format.place_of(address.value_or(1));
        const bool begins = address && is_aligned(at) && text.take(':');
        if (!begins) {
            text.skip_line();
            continue;
        }
        const auto start = take_start(text);
        // Not at the rest of an atom with a line end.
        while (begin >= section.begin + lines->begins_.size() * kPartBytes) {
            RETURN_IF_ERROR(lines->end_part());
            lines->begins_.push_back(begin);
        }
        text.skip_line();
        const auto object = object_of(start, text.position() - begin);
        if (object.start != ObjectStart::kNone) {
            image.begin_line(at, object.start);
            lines->add(at, object.words);
        }
    }
    if (text.error()) {
        return std::unexpected(*text.error());
    }
    RETURN_IF_ERROR(lines->end_part());
    std::ranges::sort(lines->places_);
    RETURN_IF_ERROR(budget.take_temporary(lines->space_.file_bytes()));
    lines->file_bytes_ = lines->space_.file_bytes();
    return lines;
}

Result<HeapCounts> read_again(const TextSource& source, Span section, const TextFormat& format,
                              Names& names, WordImage& image, WordImage& literals,
                              const std::function<bool(std::uint64_t)>& binary, Budget& budget) {
    image.clear();
    RETURN_IF_ERROR(HeapLines::find(source, section, format, image, budget));
    TextCursor text(source, section.begin, section.end);
    HeapParser objects(format, names, image, literals, binary, HeapParser::Starts::kKnown);
    return objects.read(text);
}

std::span<const HeapLines::Place> HeapLines::parts_of(std::uint64_t page) const {
    const auto found = std::ranges::equal_range(places_, page, {}, &Place::page);
    return {found.begin(), found.end()};
}

Span HeapLines::part(std::uint64_t number) const {
    return {begins_[number], number + 1 < begins_.size() ? begins_[number + 1] : section_.end};
}

}  // namespace beamdump::crash
