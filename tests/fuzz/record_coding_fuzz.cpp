// Decodes arbitrary records, which must be refused or give records; what is encoded must be the
// same again after decoding.
//
// Input, as of dump_records_fuzz: nine bytes, then records. The first eight say which byte of the
// encoded records is changed, the ninth how.

#include <libdump/base/bytes.h>
#include <libdump/coding/record_coding.h>
#include <libdump/format/format.h>

#include <cstdlib>
#include <vector>

namespace {

using namespace beamdump;
using Content = std::vector<std::byte>;

/// The records at the start of the content that are complete and not coded.
Content plain_records(const Content& content) {
    std::size_t end = 0;
    while (const auto header = load<format::RecordHeader>(content, end)) {
        const auto bytes = format::record_bytes(header->payload_bytes);
        if (bytes > content.size() - end || (header->kind & format::kCodedKind) != 0 ||
            header->flags != 0) {
            break;
        }
        end += bytes;
    }
    return {content.begin(), content.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kControlBytes = 9;
    if (size < kControlBytes) {
        return 0;
    }
    const auto control = std::as_bytes(std::span(data, size)).first(kControlBytes);
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(kControlBytes);
    const Content content(bytes.begin(), bytes.end());
    Content scratch(content.size());
    auto decoded = content;
    static_cast<void>(coding::decode_records(decoded, scratch));

    const auto plain = plain_records(content);
    auto copy = plain;
    coding::encode_records(copy, scratch);
    if (!copy.empty()) {
        auto changed = copy;
        changed[load_known<std::uint64_t>(control) % changed.size()] ^= control.back();
        static_cast<void>(coding::decode_records(changed, scratch));
    }
    if (!coding::decode_records(copy, scratch) || copy != plain) {
        std::abort();
    }
    return 0;
}
