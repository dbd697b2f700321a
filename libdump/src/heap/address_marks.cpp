#include <libdump/heap/address_marks.h>

namespace beamdump {

void AddressMarks::clear() {
    for (Page* page : touched_) {
        page->bits.fill(0);
        page->touched = false;
    }
    touched_.clear();
}

const AddressMarks::Page* AddressMarks::find_page(std::uint64_t number) const {
    const auto found = pages_.find(number);
    return found == pages_.end() ? nullptr : found->second.get();
}

AddressMarks::Page& AddressMarks::make_page(std::uint64_t number) {
    auto& page = pages_[number];
    if (!page) {
        page = std::make_unique<Page>();
    }
    return *page;
}

}  // namespace beamdump
