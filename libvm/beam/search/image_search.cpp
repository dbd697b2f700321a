#include <libdump/base/return_if_error.h>
#include <libvm/beam/search/image_search.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace beamdump::beam {
namespace {

constexpr std::uint64_t kMaxSegmentBytes = 64U << 20U;

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<ImageSearch> ImageSearch::read(target::Target& target) {
    ImageSearch search;
    const auto copy = [&](const std::vector<memory::AddressRange>& ranges, bool present_only,
                          std::vector<Segment>& into) -> Result<void> {
        for (const auto& range : ranges) {
            if (range.bytes() > kMaxSegmentBytes) {
                continue;
            }
            ASSIGN_OR_RETURN(auto present,
                             present_only ? target.pages().present(range)
                                          : Result<std::vector<memory::AddressRange>>({range}));
            for (const auto& part : present) {
                Segment segment{part.begin, std::vector<std::byte>(part.bytes())};
                if (auto done = target.memory().read(part.begin, segment.bytes); !done) {
                    return wrap("reading the VM's data segments", done.error());
                }
                into.push_back(std::move(segment));
            }
        }
        return {};
    };
    RETURN_IF_ERROR(copy(target.image().read_only(), false, search.read_only_));
    RETURN_IF_ERROR(copy(target.image().writable(), true, search.writable_));
    return search;
}

std::vector<Address> ImageSearch::strings(std::string_view text) const {
    // The byte before it is not checked: linkers may merge a string with the end of a longer one.
    std::string pattern(text);
    pattern.push_back('\0');
    std::vector<Address> found;
    for (const auto& segment : read_only_) {
        const auto bytes = as_text(segment.bytes);
        for (auto at = bytes.find(pattern); at != std::string_view::npos;
             at = bytes.find(pattern, at + 1)) {
            found.push_back(segment.start + at);
        }
    }
    return found;
}

std::vector<std::pair<Address, std::string>> ImageSearch::texts(std::string_view prefix,
                                                                std::size_t most) const {
    std::vector<std::pair<Address, std::string>> found;
    for (const auto* kind : {&read_only_, &writable_}) {
        for (const auto& segment : *kind) {
            const auto bytes = as_text(segment.bytes);
            for (auto at = bytes.find(prefix); at != std::string_view::npos;
                 at = bytes.find(prefix, at + 1)) {
                const auto text = bytes.substr(at, most);
                found.emplace_back(segment.start + at, text.substr(0, text.find('\0')));
            }
        }
    }
    return found;
}

bool ImageSearch::begins_text(Address address) const {
    for (const auto* kind : {&read_only_, &writable_}) {
        for (const auto& segment : *kind) {
            if (address > segment.start && address - segment.start < segment.bytes.size()) {
                return segment.bytes[address - segment.start - 1] == std::byte{0};
            }
        }
    }
    return false;
}

std::vector<Address> ImageSearch::pointers_to_string(std::string_view text) const {
    const auto targets = strings(text);
    if (targets.empty()) {
        return {};
    }
    return matching(sizeof(Address), [&](Address, std::span<const std::byte> bytes) {
        Address value = 0;
        std::memcpy(&value, bytes.data(), sizeof(value));
        return std::ranges::find(targets, value) != targets.end();
    });
}

std::vector<Address> ImageSearch::matching(
    std::size_t bytes,
    const std::function<bool(Address, std::span<const std::byte>)>& candidate) const {
    std::vector<Address> found;
    for (const auto& segment : writable_) {
        const std::span<const std::byte> all(segment.bytes);
        const std::size_t first = (8 - segment.start % 8) % 8;
        for (std::size_t at = first; at + bytes <= all.size(); at += 8) {
            if (candidate(segment.start + at, all.subspan(at, bytes))) {
                found.push_back(segment.start + at);
            }
        }
    }
    return found;
}

std::optional<std::span<const std::byte>> ImageSearch::at(Address address,
                                                          std::size_t bytes) const {
    for (const auto& segment : writable_) {
        if (address >= segment.start && address - segment.start <= segment.bytes.size() &&
            bytes <= segment.bytes.size() - (address - segment.start)) {
            return std::span(segment.bytes).subspan(address - segment.start, bytes);
        }
    }
    return std::nullopt;
}

namespace {

constexpr std::size_t kMaxListed = 16;

}  // namespace

std::string listed(const std::vector<memory::Address>& addresses) {
    if (addresses.empty()) {
        return "nowhere";
    }
    std::string text;
    for (std::size_t index = 0; index < addresses.size() && index < kMaxListed; ++index) {
        text += fmt::format("{}{:#x}", index == 0 ? "" : ", ", addresses[index]);
    }
    if (addresses.size() > kMaxListed) {
        text += fmt::format(" and {} more", addresses.size() - kMaxListed);
    }
    return text;
}

Result<memory::Address> only_one(std::string_view what, std::string_view expected,
                                 const std::vector<memory::Address>& candidates) {
    if (candidates.size() != 1) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("{}: expected {}, found {}", what, expected,
                                candidates.empty() ? "none" : "it at " + listed(candidates)));
    }
    return candidates.front();
}

bool is_code(Vm& vm, memory::Address address) {
    const auto* mapping = vm.target().mappings().find(address);
    return mapping != nullptr && mapping->executable;
}

}  // namespace beamdump::beam
