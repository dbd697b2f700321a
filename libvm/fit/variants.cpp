#include <libdump/format/format.h>
#include <libvm/fit/variants.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

namespace beamdump::fit {
namespace {

constexpr std::int32_t kWord = 8;
constexpr std::int32_t kMaxWords = 8;
constexpr auto kTermScheme = "term_scheme";

void add(std::vector<Content>& list, Content content) {
    if (std::ranges::none_of(list, [&](const Content& known) { return same(known, content); })) {
        list.push_back(std::move(content));
    }
}

/// A set of contents without duplicates, in the order of insertion.
class Distinct {
  public:
    void add(const Content& content) {
        std::string said;
        for (const auto& [name, structure] : content.structs) {
            said += fmt::format("{} {}:", name, structure.bytes);
            for (const auto& [field_name, field] : structure.fields) {
                said += fmt::format("{} {} {},", field_name, field.offset, field.bytes);
            }
        }
        for (const auto& [name, value] : content.constants) {
            said += fmt::format("{}={},", name, value);
        }
        if (known_.insert(std::move(said)).second) {
            list_.push_back(content);
        }
    }
    std::vector<Content> take() { return std::move(list_); }

  private:
    std::unordered_set<std::string> known_;
    std::vector<Content> list_;
};

/// True if the constants that both have are equal: a constant that only one has belongs to a
/// feature that the other lacks.
void drop_single_constants(Content& one, Content& other) {
    std::map<std::string, std::uint64_t, std::less<>> both;
    for (const auto& [name, value] : one.constants) {
        const auto found = other.constants.find(name);
        if (found != other.constants.end()) {
            if (found->second != value) {
                return;
            }
            both.emplace(name, value);
        }
    }
    one.constants = both;
    other.constants = std::move(both);
}

struct Placed {
    std::string name;
    beam::Field field;
};

/// Sorted by offset; a field that contains others comes before them.
std::vector<Placed> by_offset(const beam::StructLayout& structure) {
    std::vector<Placed> fields;
    fields.reserve(structure.fields.size());
    for (const auto& [name, field] : structure.fields) {
        fields.push_back({name, field});
    }
    std::ranges::sort(fields, [](const Placed& one, const Placed& other) {
        return std::pair(one.field.offset, ~one.field.bytes) <
               std::pair(other.field.offset, ~other.field.bytes);
    });
    return fields;
}

/// The structure with its fields from `cut` on moved. nullopt if a field would overlap the one
/// before it, or if the cut goes through a field.
std::optional<beam::StructLayout> moved_from(const beam::StructLayout& structure,
                                             const std::vector<Placed>& fields, std::size_t cut,
                                             std::int32_t by) {
    std::int64_t end = 0;
    for (std::size_t index = 0; index < cut; ++index) {
        end = std::max<std::int64_t>(end, fields[index].field.offset + fields[index].field.bytes);
    }
    const std::int64_t first = fields[cut].field.offset;
    if (first < end || first + by < end || static_cast<std::int64_t>(structure.bytes) + by < end) {
        return std::nullopt;
    }
    auto result = structure;
    for (std::size_t index = cut; index < fields.size(); ++index) {
        auto& field = result.fields.at(fields[index].name);
        field.offset = static_cast<std::uint32_t>(std::int64_t{field.offset} + by);
    }
    result.bytes = static_cast<std::uint32_t>(std::int64_t{result.bytes} + by);
    return result;
}

/// All variants of `content` in which `structure` replaces the one of that name, cut and moved.
void add_shifts(Distinct& list, const Content& content, const beam::StructLayout& structure,
                const std::string& from) {
    const auto fields = by_offset(structure);
    auto changed = content;
    changed.structs[structure.name] = structure;
    changed.from = fmt::format("{}, {} of {}", content.from, structure.name, from);
    list.add(changed);
    for (std::size_t cut = 0; cut < fields.size(); ++cut) {
        for (std::int32_t words = -kMaxWords; words <= kMaxWords; ++words) {
            const auto moved = moved_from(structure, fields, cut, words * kWord);
            if (words == 0 || !moved) {
                continue;
            }
            changed.structs[structure.name] = *moved;
            changed.from = fmt::format("{}, {} of {} with {} bytes {} before {}", content.from,
                                       structure.name, from, std::abs(words) * kWord,
                                       words > 0 ? "more" : "less", fields[cut].name);
            list.add(changed);
        }
    }
}

}  // namespace

std::vector<Content> of_neighbours(const std::vector<Content>& neighbours) {
    std::vector<Content> list;
    for (const auto& content : neighbours) {
        add(list, content);
    }
    if (list.size() == 2) {
        drop_single_constants(list[0], list[1]);
    }
    if (list.size() < 2) {
        return list;
    }
    if (agree(list[0], list[1])) {
        return {agreed(list[0], list[1])};
    }
    for (const auto& [structs, constants] : {std::pair{0, 1}, std::pair{1, 0}}) {
        const auto& one = list[static_cast<std::size_t>(structs)];
        const auto& other = list[static_cast<std::size_t>(constants)];
        if (!one.structs.empty() && !one.constants.empty()) {
            add(list, {one.structs, other.constants,
                       fmt::format("{}, constants of {}", one.from, other.from)});
        }
    }
    return list;
}

std::vector<Content> shifted(const std::vector<Content>& contents) {
    Distinct list;
    for (const auto& content : contents) {
        for (const auto& other : contents) {
            for (const auto& [name, structure] : other.structs) {
                add_shifts(list, content, structure, other.from);
            }
        }
    }
    return list.take();
}

std::vector<Content> with_term_schemes(const std::vector<Content>& contents) {
    using format::TermScheme;
    std::vector<Content> list;
    for (const auto& content : contents) {
        add(list, content);
    }
    for (const auto& content : contents) {
        if (!content.constants.contains(kTermScheme)) {
            continue;
        }
        for (const auto scheme : {TermScheme::kOtp24, TermScheme::kOtp25, TermScheme::kOtp26,
                                  TermScheme::kOtp27, TermScheme::kOtp29}) {
            auto other = content;
            other.constants[kTermScheme] = static_cast<std::uint64_t>(scheme);
            other.from =
                fmt::format("{}, term scheme {}", content.from, static_cast<unsigned>(scheme));
            add(list, std::move(other));
        }
    }
    return list;
}

}  // namespace beamdump::fit
