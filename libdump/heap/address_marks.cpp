#include <libdump/base/return_if_error.h>
#include <libdump/heap/address_marks.h>

#include <bit>

namespace beamdump {

void AddressMarks::clear() {
    for (const Place place : touched_) {
        pages_[place].bits.fill(0);
        pages_[place].touched = false;
    }
    touched_.clear();
}

std::uint64_t AddressMarks::number_members() {
    std::uint64_t numbered = 0;
    for (const Place place : touched_) {
        Page& page = pages_[place];
        page.first_number = numbered;
        for (const std::uint64_t bits : page.bits) {
            numbered += static_cast<std::uint64_t>(std::popcount(bits));
        }
    }
    return numbered;
}

std::uint64_t AddressMarks::number_of_member(std::uint64_t address) const {
    const Page& page = *find(address);
    const std::uint64_t index = index_of(address);
    std::uint64_t number = page.first_number;
    for (std::uint64_t i = 0; i < index / 64; ++i) {
        number += static_cast<std::uint64_t>(std::popcount(page.bits[i]));
    }
    const std::uint64_t before = (std::uint64_t{1} << (index % 64)) - 1;
    return number + static_cast<std::uint64_t>(std::popcount(page.bits[index / 64] & before));
}

const AddressMarks::Page* AddressMarks::find_page(std::uint64_t number) const {
    const auto found = places_.find(number);
    return found == places_.end() ? nullptr : &pages_[found->second];
}

Result<AddressMarks::Place> AddressMarks::place_of(std::uint64_t number) {
    if (const auto found = places_.find(number); found != places_.end()) {
        return found->second;
    }
    const auto place = static_cast<Place>(pages_.size());
    RETURN_IF_ERROR(pages_.push_back({}));
    places_.emplace(number, place);
    return place;
}

}  // namespace beamdump
