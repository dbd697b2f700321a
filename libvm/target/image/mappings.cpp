#include <libvm/target/image/mappings.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace beamdump::target {
namespace {

/// Takes fields off the front of a line.
class Fields {
  public:
    explicit Fields(std::string_view line) : rest_(line) {}

    /// Up to the next `end`, which is dropped.
    std::string_view upto(char end) {
        const auto at = rest_.find(end);
        const auto field = rest_.substr(0, at);
        rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + 1);
        return field;
    }
    [[nodiscard]] std::string_view rest_without_blanks() const {
        const auto at = rest_.find_first_not_of(' ');
        return at == std::string_view::npos ? std::string_view() : rest_.substr(at);
    }

  private:
    std::string_view rest_;
};

bool number(std::string_view text, int base, std::uint64_t& value) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

// "begin-end perms offset major:minor inode path", Linux' Documentation/filesystems/proc.rst
bool parse_line(std::string_view line, Mapping& mapping) {
    Fields fields(line);
    const bool range = number(fields.upto('-'), 16, mapping.range.begin) &&
                       number(fields.upto(' '), 16, mapping.range.end);
    const auto permissions = fields.upto(' ');
    if (!range || mapping.range.begin >= mapping.range.end || permissions.size() != 4) {
        return false;
    }
    mapping.readable = permissions[0] == 'r';
    mapping.writable = permissions[1] == 'w';
    mapping.executable = permissions[2] == 'x';
    mapping.shared = permissions[3] == 's';
    const bool offset = number(fields.upto(' '), 16, mapping.file_offset);
    fields.upto(' ');  // the device
    const bool inode = number(fields.upto(' '), 10, mapping.inode);
    mapping.path = fields.rest_without_blanks();
    return offset && inode;
}

}  // namespace

Result<Mappings> Mappings::parse(std::string_view text) {
    Mappings mappings;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        Mapping mapping;
        if (!parse_line(line, mapping)) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("cannot parse line {} of the mappings: \"{}\"", number,
                                    line.substr(0, 200)));
        }
        if (!mappings.all_.empty() && mapping.range.begin < mappings.all_.back().range.end) {
            return fail(ErrorCode::kImplausible,
                        fmt::format("line {} of the mappings begins at {:#x}, before the end of "
                                    "the one above at {:#x}",
                                    number, mapping.range.begin, mappings.all_.back().range.end));
        }
        mappings.all_.push_back(std::move(mapping));
    }
    return mappings;
}

Result<Mappings> Mappings::of(std::vector<Mapping> mappings) {
    std::ranges::sort(mappings, {}, [](const Mapping& mapping) { return mapping.range.begin; });
    const auto overlap = std::ranges::adjacent_find(
        mappings,
        [](const Mapping& low, const Mapping& high) { return low.range.end > high.range.begin; });
    if (overlap != mappings.end()) {
        return fail(ErrorCode::kImplausible,
                    fmt::format("the mapping at {:#x}-{:#x} overlaps the one after it",
                                overlap->range.begin, overlap->range.end));
    }
    Mappings result;
    result.all_ = std::move(mappings);
    return result;
}

const Mapping* Mappings::find(memory::Address address) const {
    const auto next = std::ranges::upper_bound(
        all_, address, {}, [](const Mapping& mapping) { return mapping.range.begin; });
    if (next == all_.begin() || !std::prev(next)->range.contains(address)) {
        return nullptr;
    }
    return &*std::prev(next);
}

const Mapping* Mappings::first_of(std::string_view path) const {
    const auto first = std::ranges::find(all_, path, &Mapping::path);
    return first == all_.end() ? nullptr : &*first;
}

bool Mappings::readable(memory::AddressRange range) const {
    if (range.begin > range.end) {
        return false;
    }
    const Mapping* mapping = find(range.begin);
    memory::Address reached = range.begin;
    while (reached < range.end) {
        const bool here = mapping != nullptr && mapping != all_.data() + all_.size() &&
                          mapping->range.contains(reached) && mapping->readable;
        if (!here) {
            return false;
        }
        reached = mapping->range.end;
        ++mapping;
    }
    return true;
}

}  // namespace beamdump::target
