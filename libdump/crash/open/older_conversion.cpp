#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/crash/import/records/names_record.h>
#include <libdump/crash/import/sections/section_records.h>
#include <libdump/crash/open/older_conversion.h>
#include <libdump/model/dump_form.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <span>
#include <unistd.h>
#include <utility>

namespace beamdump::crash {
namespace {

/// Appends the first bytes of a file.
Result<void> copy_front(const std::string& path, std::uint64_t bytes, TemporaryFile& to) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<std::byte, std::size_t{64} << 10U> buffer{};
    while (bytes != 0) {
        const auto got =
            ::read(file.get(), buffer.data(), std::min<std::uint64_t>(bytes, buffer.size()));
        if (got <= 0) {
            return fail(ErrorCode::kIo,
                        fmt::format("cannot read {}: {}", path,
                                    got < 0 ? system_error_text(errno) : "it has become shorter"));
        }
        RETURN_IF_ERROR(
            to.append(std::span<const std::byte>(buffer).first(static_cast<std::size_t>(got))));
        bytes -= static_cast<std::uint64_t>(got);
    }
    return {};
}

Result<void> add_records(Dump& dump, DumpWriter& writer, records::Trailer& trailer) {
    Names names;
    RETURN_IF_ERROR(
        dump.atoms().visit_newest_first([&](std::uint32_t number, const std::string& text) {
            names.restore_atom(number, text, true);
            if (number >= names.next_atom() && number < Names::kFirstNodeAtom) {
                names.restore_next_atom(number + 1);
            }
        }));
    SectionRecords records(names, dump.capture().slogan(), dump.node().word_size(), writer,
                           trailer);
    for (const auto offset : dump.trailer().crash_sections_offset()) {
        ASSIGN_OR_RETURN(const auto page, dump.reader().message_at<records::CrashSections>(
                                              offset, format::RecordKind::kCrashSections));
        for (const auto& section : page.section()) {
            RETURN_IF_ERROR(records.add(section));
        }
    }
    RETURN_IF_ERROR(records.finish());
    trailer.clear_atoms();
    return write_atoms(names, writer, trailer);
}

}  // namespace

Result<std::optional<TemporaryFile>> with_section_records(Dump& dump, const std::string& path) {
    if (!is_of_crash_dump(dump) || dump.reader().damage() ||
        dump.trailer().crash_sections_offset().empty() || !dump.trailer().ports_offset().empty()) {
        return std::nullopt;
    }
    const auto frames = dump.reader().written_frames();
    ASSIGN_OR_RETURN(auto file, TemporaryFile::create());
    RETURN_IF_ERROR(copy_front(path, frames.file_bytes, file));
    ASSIGN_OR_RETURN(auto writer, DumpWriter::resume(temporary_sink(file), frames, {}));
    auto trailer = dump.trailer();
    RETURN_IF_ERROR(add_records(dump, writer, trailer));
    RETURN_IF_ERROR(writer.finish(trailer));
    return file;
}

}  // namespace beamdump::crash
