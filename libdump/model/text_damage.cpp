#include <libdump/model/text_damage.h>

#include <algorithm>

namespace beamdump {

void TextDamage::tell_all(const records::Trailer& trailer) {
    counts_ = TextCounts::of(trailer.crash_text());
    heap_told_ = true;
}

void TextDamage::tell_process(const records::Trailer& trailer, const records::ProcessEnd& end,
                              bool whole_heap) {
    if (owner_ == end.owner_id()) {
        return;
    }
    if (!owner_) {
        counts_.add(TextCounts::of(trailer.crash_literals()));
    }
    owner_ = end.owner_id();
    counts_.add(TextCounts::of(end.root_lines()));
    const auto objects = TextCounts::of(end.left_out());
    if (whole_heap) {
        counts_.add(TextCounts::of(end.heap_lines()));
    }
    // If there are too many to list each, all are reported.
    heap_told_ = whole_heap || static_cast<std::uint64_t>(end.left_out_address_size()) <
                                   objects.malformed + objects.overlaps;
    if (heap_told_) {
        counts_.add(objects);
    }
}

void TextDamage::met(const LeftOut& object) {
    if (!heap_told_ && met_.insert(object.address).second) {
        object.count(counts_);
    }
}

std::optional<LeftOut> left_out_at(const records::ProcessEnd& end, std::uint64_t address) {
    const auto& addresses = end.left_out_address();
    const auto found = std::ranges::find(addresses, address);
    const auto place = static_cast<int>(found - addresses.begin());
    if (found == addresses.end() || place >= end.left_out_offset_size() ||
        place >= end.left_out_overlaps_size()) {
        return std::nullopt;
    }
    return LeftOut{address, end.left_out_offset(place), end.left_out_overlaps(place)};
}

}  // namespace beamdump
