#include <libdump/base/amount_text.h>
#include <libdump/format/text_counts.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump {

TextCounts TextCounts::of(const records::CrashTextCounts& record) {
    return {.malformed = record.malformed(),
            .first_malformed = record.first_malformed(),
            .overlaps = record.overlaps(),
            .first_overlap = record.first_overlap()};
}

records::CrashTextCounts TextCounts::record() const {
    records::CrashTextCounts record;
    if (malformed != 0) {
        record.set_malformed(malformed);
        record.set_first_malformed(first_malformed);
    }
    if (overlaps != 0) {
        record.set_overlaps(overlaps);
        record.set_first_overlap(first_overlap);
    }
    return record;
}

void TextCounts::add_malformed(std::uint64_t offset) {
    add({.malformed = 1, .first_malformed = offset});
}

void TextCounts::add_overlap(std::uint64_t offset) {
    add({.overlaps = 1, .first_overlap = offset});
}

void TextCounts::add(const TextCounts& more) {
    const auto add_one = [](std::uint64_t& count, std::uint64_t& first, std::uint64_t more_count,
                            std::uint64_t more_first) {
        if (more_count != 0) {
            first = count == 0 ? more_first : std::min(first, more_first);
            count += more_count;
        }
    };
    add_one(malformed, first_malformed, more.malformed, more.first_malformed);
    add_one(overlaps, first_overlap, more.overlaps, more.first_overlap);
}

std::vector<std::string> TextCounts::sentences() const {
    std::vector<std::string> all;
    if (malformed != 0) {
        all.push_back(fmt::format("{} of the crash dump, the first at byte {}",
                                  counted(malformed, "malformed line"), first_malformed));
    }
    if (overlaps != 0) {
        all.push_back(
            fmt::format("{} of the crash dump {} left out: at the sizes of its release they "
                        "overlap others, the first at byte {}",
                        counted(overlaps, "object"), overlaps == 1 ? "is" : "are", first_overlap));
    }
    return all;
}

void LeftOut::count(TextCounts& counts) const {
    if (overlaps) {
        counts.add_overlap(offset);
    } else {
        counts.add_malformed(offset);
    }
}

}  // namespace beamdump
