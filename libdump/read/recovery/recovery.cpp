#include <libdump/base/return_if_error.h>
#include <libdump/read/file/file_header.h>
#include <libdump/read/frames/frame_scan.h>
#include <libdump/read/recovery/index_rebuild.h>
#include <libdump/read/recovery/recovery.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump {

namespace {

Error nothing_whole(const FileSource& file) {
    if (file.size() == kFileHeaderBytes) {
        return {ErrorCode::kTruncated,
                fmt::format("{} holds the header of a dump and nothing else: the capture ended "
                            "before anything was written",
                            file.name())};
    }
    return {
        ErrorCode::kTruncated,
        fmt::format("{} holds no whole frame: none of its {} bytes after the header can be used",
                    file.name(), file.size() - kFileHeaderBytes)};
}

Damage damage_of(const FileSource& file, const ScannedFrames& scanned, const Error& why) {
    Damage damage;
    damage.truncated = !scanned.tail;
    for (const LostRange& lost : scanned.lost) {
        damage.lost_bytes += lost.end - lost.begin;
    }
    const auto& frames = scanned.frames.frames();
    const std::uint64_t expected =
        scanned.tail ? scanned.tail->frames : std::uint64_t{frames.back().sequence} + 1;
    const std::uint64_t missing = expected - std::min<std::uint64_t>(expected, frames.size());
    damage.what =
        damage.truncated
            ? fmt::format(
                  "{} was cut off: its last whole frame is number {}, which ends "
                  "at byte {} of {}",
                  file.name(), frames.back().sequence, frames.back().file_end(), file.size())
            : why.message;
    if (missing != 0) {
        damage.what +=
            fmt::format("; {} of {} frames before its end are damaged, the first at byte {}",
                        missing, expected, scanned.lost.empty() ? 0 : scanned.lost.front().begin);
    } else if (!damage.truncated) {
        damage.what += fmt::format("; all of its {} frames are whole", frames.size());
    }
    if (scanned.gave_up) {
        damage.what += "; the search for further frames was given up";
    }
    return damage;
}

}  // namespace

Result<RecoveredDump> recover_dump(FileSource& file, FrameLoader& loader,
                                   const format::FileHeader& header, const Error& why) {
    IndexRebuilder rebuilder;
    ASSIGN_OR_RETURN(auto scanned, scan_frames(file, loader, header,
                                               [&](const auto& frame) { rebuilder.add(*frame); }));
    if (scanned.frames.frames().empty()) {
        return std::unexpected(nothing_whole(file));
    }
    RecoveredDump dump{.frames = scanned.frames,
                       .trailer = {},
                       .index = std::nullopt,
                       .damage = damage_of(file, scanned, why)};
    if (const auto& own = rebuilder.own_trailer()) {
        dump.trailer = *own;
    } else {
        rebuilder.finish();
        dump.trailer = std::move(rebuilder.trailer());
        dump.index = std::move(rebuilder.index());
    }
    return dump;
}

}  // namespace beamdump
