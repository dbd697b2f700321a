#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/format/format.h>
#include <libdump/write/seek_table_builder.h>

#include <fmt/format.h>
#include <xxhash.h>

#include <array>
#include <memory>
#include <vector>

namespace beamdump {

namespace {

/// The most frames that zstd's own reader of the seekable format accepts (ZSTD_SEEKABLE_MAXFRAMES
/// of contrib/seekable_format/zstd_seekable.h).
constexpr std::size_t kMaxFrames = 0x8000000;

/// Entries serialized at a time.
constexpr std::size_t kEntriesPerPart = 4096;

std::array<std::uint32_t, 2> frame_header(std::uint64_t frame_bytes) {
    return {format::kSeekTableSkippableMagic, static_cast<std::uint32_t>(frame_bytes - 8)};
}

std::array<std::byte, format::kSeekTableFooterBytes> footer(std::size_t frames) {
    std::array<std::byte, format::kSeekTableFooterBytes> bytes{};
    store<std::uint32_t>(bytes, 0, static_cast<std::uint32_t>(frames));
    store<std::uint8_t>(bytes, 4, format::kSeekTableHasChecksums);
    store<std::uint32_t>(bytes, 5, format::kSeekTableFooterMagic);
    return bytes;
}

}  // namespace

Result<void> SeekTableBuilder::add(std::uint32_t compressed_bytes, std::uint32_t content_bytes,
                                   std::uint32_t checksum) {
    if (entries_.size() == kMaxFrames) {
        return fail(ErrorCode::kLimit,
                    fmt::format("the dump has {} frames, and a seek table lists no more; larger "
                                "frames would hold more",
                                kMaxFrames));
    }
    entries_.push_back({compressed_bytes, content_bytes, checksum});
    return {};
}

std::uint64_t SeekTableBuilder::frame_bytes() const {
    return 8 + entries_.size() * format::kSeekTableEntryBytes + format::kSeekTableFooterBytes;
}

template <typename Take>
Result<void> SeekTableBuilder::for_each_part(const Take& take) const {
    static_assert(sizeof(Entry) == format::kSeekTableEntryBytes);
    RETURN_IF_ERROR(take(bytes_of(frame_header(frame_bytes()))));
    std::vector<Entry> part;
    part.reserve(kEntriesPerPart);
    for (const Entry& entry : entries_) {
        part.push_back(entry);
        if (part.size() == kEntriesPerPart || &entry == &entries_.back()) {
            RETURN_IF_ERROR(take(std::as_bytes(std::span(part))));
            part.clear();
        }
    }
    return take(std::span<const std::byte>(footer(entries_.size())));
}

std::uint64_t SeekTableBuilder::checksum() const {
    struct FreeState {
        void operator()(XXH64_state_t* state) const { XXH64_freeState(state); }
    };
    const std::unique_ptr<XXH64_state_t, FreeState> state(XXH64_createState());
    XXH64_reset(state.get(), 0);
    const auto hashed = for_each_part([&](std::span<const std::byte> bytes) -> Result<void> {
        XXH64_update(state.get(), bytes.data(), bytes.size());
        return {};
    });
    return hashed ? XXH64_digest(state.get()) : 0;
}

Result<void> SeekTableBuilder::write(ByteSink& sink) const {
    return for_each_part([&](std::span<const std::byte> bytes) { return sink.write(bytes); });
}

}  // namespace beamdump
