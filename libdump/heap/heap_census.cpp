#include <libdump/base/return_if_error.h>
#include <libdump/heap/heap_census.h>

#include <algorithm>
#include <array>

namespace beamdump {

namespace {

void add(ObjectCount& to, const HeapObject& object) {
    ++to.objects;
    to.words += object.words;
}

bool larger_binary(const KeptBinary& a, const KeptBinary& b) {
    return a.bytes > b.bytes;
}

}  // namespace

HeapCensus::HeapCensus(const TagScheme& scheme, WordReader& reader,
                       std::function<HeapArea(std::uint64_t)> area_of, const Options& options)
    : scheme_(scheme),
      reader_(reader),
      area_of_(std::move(area_of)),
      options_(options),
      live_(options.space),
      binaries_seen_(options.space),
      largest_(options.largest),
      largest_binaries_(options.largest, larger_binary) {}

void HeapCensus::set_root(std::uint64_t root, bool list) {
    root_ = root;
    list_ = list;
    // Another message may have other keys at the same address.
    last_key_set_ = nullptr;
}

Result<WalkObserver::Entered> HeapCensus::enter(const HeapObject& object,
                                                std::span<const WalkLevel> path) {
    ASSIGN_OR_RETURN(const bool is_new, live_.add(object.address));
    if (is_new) {
        RETURN_IF_ERROR(count(object));
        if (object.terms.count == 0) {
            if (list_) {
                largest_.offer(root_, word_to(scheme_, object.address, false), object.copy_words,
                               path);
            }
        }
    }
    return Entered{.go_on = true, .mark = is_new};
}

Result<void> HeapCensus::leave(std::span<WalkLevel> path) {
    const WalkLevel& level = path.back();
    if (list_ && level.mark && exceeds_largest_part(level.words, level.largest_part)) {
        largest_.offer(root_, word_to(scheme_, level), level.words, path.first(path.size() - 1));
    }
    return {};
}

Result<void> HeapCensus::count(const HeapObject& object) {
    add(areas_[static_cast<std::size_t>(area_of_(object.address))], object);
    if (object.is_cell) {
        add(cells_, object);
        return {};
    }
    add(kinds_[object.kind], object);
    switch (object.kind) {
        case BoxedKind::kTuple:
            count_tuple(object);
            break;
        case BoxedKind::kFlatMap:
            count_map(object);
            break;
        case BoxedKind::kRefcBinary:
            return count_binary(object);
        default:
            break;
    }
    return {};
}

void HeapCensus::count_tuple(const HeapObject& object) {
    std::uint64_t first = 0;
    if (object.words < 2 || reader_.read(object.address + kWordBytes, first) != WordStatus::kHere ||
        word_kind(scheme_, first) != WordKind::kAtom) {
        return;
    }
    const Tag tag(static_cast<std::uint32_t>(table_index(first)),
                  static_cast<std::uint32_t>(object.words - 1));
    const auto known = tags_.find(tag);
    if (known != tags_.end()) {
        add(known->second, object);
    } else {
        add(tags_.size() < kMaxTags ? tags_[tag] : other_tags_, object);
    }
}

void HeapCensus::count_map(const HeapObject& object) {
    std::uint64_t keys = 0;
    if (reader_.read(object.address + otp25::kFlatMapKeys * kWordBytes, keys) !=
        WordStatus::kHere) {
        return;
    }
    if (last_key_set_ == nullptr || keys != last_keys_word_) {
        last_key_set_ = &key_set_of(keys);
        last_keys_word_ = keys;
    }
    add(*last_key_set_, object);
}

ObjectCount& HeapCensus::key_set_of(std::uint64_t keys_word) {
    const auto tuple = heap_object(scheme_, reader_, keys_word);
    if (!tuple || tuple->kind != BoxedKind::kTuple || tuple->words > otp25::kMaxFlatMapSize + 1) {
        return other_key_sets_;
    }
    KeySet keys;
    for (std::uint64_t i = 1; i < tuple->words; ++i) {
        std::uint64_t key = 0;
        if (reader_.read(tuple->address + i * kWordBytes, key) != WordStatus::kHere) {
            return other_key_sets_;
        }
        keys.push_back(leads_to_object(scheme_, key) ? scheme_.non_value : key);
    }
    if (const auto known = key_sets_.find(keys); known != key_sets_.end()) {
        return known->second;
    }
    return key_sets_.size() < kMaxKeySets ? key_sets_[std::move(keys)] : other_key_sets_;
}

Result<void> HeapCensus::count_binary(const HeapObject& object) {
    std::uint64_t address = 0;
    if (reader_.read(object.address + scheme_.refc_binary * kWordBytes, address) !=
        WordStatus::kHere) {
        return {};
    }
    ASSIGN_OR_RETURN(const bool is_new, binaries_seen_.add(address));
    if (!is_new) {
        return {};
    }
    // The size in a ProcBin (OTP 25) is only that of its part of the binary.
    const auto info = reader_.context().binary_at(address);
    const auto bytes = info ? std::optional(info->size_bytes) : std::nullopt;
    ++binary_count_;
    binary_bytes_ += bytes.value_or(0);
    unsized_binaries_ += bytes ? 0 : 1;
    if (options_.largest != 0) {
        largest_binaries_.add({address, bytes});
    }
    return {};
}

}  // namespace beamdump
