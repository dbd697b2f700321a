// The part of ExternalTermPrinter that sorts keys of maps and records like the VM.

#include <libdump/term/external_term.h>
#include <libdump/term/term_dialect.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace beamdump {

namespace {

/// Limit of positions of all open sorted maps.
constexpr std::size_t kMaxSortedPositions = 1U << 20U;

/// The index of an atom not in the atom table: after all others.
constexpr std::uint64_t kNoPlace = std::numeric_limits<std::uint64_t>::max();

}  // namespace

void ExternalTermPrinter::print_map(const ExternalItem& item) {
    const MapShape shape = dialect_->elixir ? map_shape(item) : MapShape();
    buffer_.open(shape.structure.empty() ? std::string(dialect_->map)
                                         : "%" + shape.structure + "{");
    const Frame frame{.left = 2 * item.count,
                      .kind = FrameKind::kMap,
                      .keyword = shape.keyword,
                      .structure = !shape.structure.empty()};
    std::vector<std::uint64_t> positions;
    if (item.count < 2 || item.count > otp25::kMaxFlatMapSize ||
        sorted_.size() > kMaxSortedPositions || !find_parts(item, positions)) {
        frames_.push_back(frame);
        return;
    }
    const auto end = positions.back();
    positions.pop_back();
    if (!sort_pairs(positions)) {
        frames_.push_back(frame);
        return;
    }
    push_sorted(positions, end, frame);
}

void ExternalTermPrinter::print_record(const ExternalItem& item) {
    buffer_.put('#');
    print_atom(item.atom, false);
    if (!failed_) {
        buffer_.put(':');
        print_atom(item.name, false);
    }
    if (failed_) {
        return;
    }
    buffer_.open("{");
    std::uint64_t values = item.next;
    if (!pass_keys(item, values)) {
        frames_.push_back({.kind = FrameKind::kRecord});
        return;
    }
    std::vector<std::uint64_t> parts;
    if (item.parts > kMaxSortedPositions || sorted_.size() > kMaxSortedPositions ||
        !find_parts(item, parts)) {
        frames_.push_back({.left = item.parts, .key = item.next, .kind = FrameKind::kRecord});
        at_ = values;
        return;
    }
    push_sorted(sorted_fields(parts), parts.back(), {.record = true});
}

/// Moves `at` behind a record's keys. False if one is not an atom or missing, which is marked.
bool ExternalTermPrinter::pass_keys(const ExternalItem& record, std::uint64_t& at) {
    for (std::uint64_t field = 0; field < record.count; ++field) {
        const auto key = read_external_item(reader_, at);
        if (key.status != ExternalStatus::kHere || key.kind != ExternalKind::kAtom) {
            fail(key.status == ExternalStatus::kHere ? ExternalStatus::kMalformed : key.status, at);
            return false;
        }
        at = key.next;
    }
    return true;
}

/// A record's keys and values, one after the other, in the order of the atom table. `parts`: the
/// keys, the values and their end.
std::vector<std::uint64_t> ExternalTermPrinter::sorted_fields(
    const std::vector<std::uint64_t>& parts) {
    struct Field {
        std::uint64_t place = 0;
        std::uint64_t key = 0;
        std::uint64_t value = 0;
    };
    const std::size_t count = parts.size() / 2;
    std::vector<Field> fields(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto index = atoms_.index(read_external_item(reader_, parts[i]).atom);
        fields[i] = {index ? *index : kNoPlace, parts[i], parts[count + i]};
    }
    std::ranges::stable_sort(fields, {}, &Field::place);
    std::vector<std::uint64_t> positions;
    for (const Field& field : fields) {
        positions.push_back(field.key);
        positions.push_back(field.value);
    }
    return positions;
}

void ExternalTermPrinter::push_sorted(const std::vector<std::uint64_t>& positions,
                                      std::uint64_t end, Frame frame) {
    sorted_.push_back(end);
    sorted_.insert(sorted_.end(), positions.rbegin(), positions.rend());
    frame.left = positions.size();
    frame.kind = FrameKind::kSortedMap;
    frames_.push_back(frame);
}

/// Positions of the parts of an item, as they stand, and of what follows them.
bool ExternalTermPrinter::find_parts(const ExternalItem& item,
                                     std::vector<std::uint64_t>& positions) {
    auto at = item.next;
    for (std::uint64_t part = 0; part < item.parts; ++part) {
        positions.push_back(at);
        if (skip_external(reader_, at, look_ahead_) != ExternalStatus::kHere) {
            return false;
        }
    }
    positions.push_back(at);
    return true;
}

/// Sorts pairs by their keys. False if they are sorted already, or the order is unknown.
bool ExternalTermPrinter::sort_pairs(std::vector<std::uint64_t>& positions) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
    for (std::size_t i = 0; i < positions.size(); i += 2) {
        pairs.emplace_back(positions[i], positions[i + 1]);
    }
    const auto compare = [this](std::uint64_t left, std::uint64_t right) {
        return atom_keys_by_index_ ? order_.compare_keys(left, right, look_ahead_)
                                   : order_.compare(left, right, look_ahead_);
    };
    bool moved = false;
    // Insertion sort: the pairs are few and nearly always sorted, which takes one comparison each.
    // It can also stop at the first unknown comparison.
    for (std::size_t i = 1; i < pairs.size(); ++i) {
        for (std::size_t j = i; j > 0; --j) {
            const auto order = compare(pairs[j - 1].first, pairs[j].first);
            if (!order) {
                return false;
            }
            if (*order <= 0) {
                break;
            }
            std::swap(pairs[j - 1], pairs[j]);
            moved = true;
        }
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        positions[2 * i] = pairs[i].first;
        positions[2 * i + 1] = pairs[i].second;
    }
    return moved;
}

}  // namespace beamdump
