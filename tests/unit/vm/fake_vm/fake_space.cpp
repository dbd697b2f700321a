#include "fake_vm/fake_space.h"

#include <fmt/format.h>

#include <stdexcept>

namespace beamdump::test {

Arena::Arena(FakeMemory& memory, const std::string& label, Address begin, std::size_t bytes)
    : memory_(memory), range_{begin, begin + bytes}, next_(begin) {
    memory_.add(label, begin, bytes);
}

Address Arena::place(std::size_t bytes, std::size_t alignment) {
    const auto at = (next_ + alignment - 1) / alignment * alignment;
    if (at + bytes > range_.end) {
        throw std::logic_error(fmt::format("the arena at {:#x} is full", range_.begin));
    }
    next_ = at + bytes;
    return at;
}

Address Arena::place_words(const std::vector<std::uint64_t>& words) {
    const auto at = place(words.size() * 8);
    memory_.put_bytes(at, std::as_bytes(std::span(words)));
    return at;
}

Address Arena::place_text(std::string_view text) {
    const auto at = place(text.size() + 1, 1);
    memory_.put_bytes(at, std::as_bytes(std::span(text.data(), text.size())));
    return at;
}

beam::Field FakeStruct::field(std::string_view name) const {
    const auto found = layout_->field(name_, name);
    if (!found) {
        throw std::logic_error(found.error().message);
    }
    return *found;
}

bool FakeStruct::has(std::string_view name) const {
    return layout_->field(name_, name).has_value();
}

FakeStruct& FakeStruct::set(std::string_view name, std::uint64_t value) {
    const auto place = field(name);
    memory_->put_bytes(
        address_ + place.offset,
        std::as_bytes(std::span(&value, 1)).first(std::min<std::size_t>(place.bytes, 8)));
    return *this;
}

FakeStruct& FakeStruct::set_if_any(std::string_view name, std::uint64_t value) {
    return has(name) ? set(name, value) : *this;
}

FakeStruct& FakeStruct::set_word(std::string_view name, std::size_t index, std::uint64_t value) {
    memory_->put(at(name) + index * 8, value);
    return *this;
}

std::uint64_t FakeStruct::get(std::string_view name) const {
    const auto place = field(name);
    std::uint64_t value = 0;
    const auto into = std::as_writable_bytes(std::span(&value, 1))
                          .first(std::min<std::size_t>(place.bytes, sizeof value));
    if (auto done = memory_->read(address_ + place.offset, into); !done) {
        throw std::logic_error(done.error().message);
    }
    return value;
}

Address FakeStruct::at(std::string_view name) const {
    return address_ + field(name).offset;
}

std::uint32_t FakeStruct::bytes() const {
    const auto found = layout_->structure(name_);
    if (!found) {
        throw std::logic_error(found.error().message);
    }
    return (*found)->bytes;
}

}  // namespace beamdump::test
