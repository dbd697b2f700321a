#include <libdump/base/return_if_error.h>
#include <libdump/crash/export/sections/binary_sections.h>

#include <array>
#include <span>

namespace beamdump::crash {

namespace {

Result<void> write_binary(Dump& dump, const records::Binary& binary, TextOutput& out) {
    constexpr std::size_t kBlock = std::size_t{3} << 14U;
    std::vector<std::uint8_t> block(kBlock);
    out.put("=binary:");
    out.hex(binary.address());
    out.put('\n');
    out.hex(binary.size_bytes());
    out.put(':');
    Base64 base64(out);
    const std::uint64_t here = captured_bytes(binary);
    for (std::uint64_t at = 0; at < here && out.ok();) {
        auto got = dump.binaries().bytes(binary, at, std::as_writable_bytes(std::span(block)));
        if (!got) {
            return wrap("reading a binary", std::move(got.error()));
        }
        if (*got == 0) {
            break;
        }
        base64.add(std::span(block).first(*got));
        at += *got;
    }
    base64.finish();
    out.put('\n');
    return {};
}

}  // namespace

Result<std::uint64_t> write_binaries(Dump& dump, TextOutput& out) {
    std::uint64_t partial = 0;
    auto record = dump.reader().first();
    while (record && *record && out.ok()) {
        const RecordView view = **record;
        if (view.kind == format::RecordKind::kBinaries) {
            auto pack = DumpReader::parse<records::Binaries>(view, format::RecordKind::kBinaries);
            if (!pack) {
                return wrap("reading binaries", std::move(pack.error()));
            }
            for (const auto& binary : pack->binary()) {
                RETURN_IF_ERROR(write_binary(dump, binary, out));
                partial += !binary.magic() && captured_bytes(binary) < binary.size_bytes() ? 1 : 0;
            }
        }
        record = dump.reader().next(view);
    }
    if (!record) {
        return wrap("looking for binaries", std::move(record.error()));
    }
    return partial;
}

}  // namespace beamdump::crash
