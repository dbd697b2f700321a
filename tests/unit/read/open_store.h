#pragma once

#include "support/dump_builder.h"

#include <libdump/read/file/file_header.h>
#include <libdump/read/frames/frame_store.h>
#include <libdump/read/frames/seek_table.h>

#include <filesystem>

namespace beamdump::test {

/// The frames of a whole dump.
inline FrameStore open_store(const std::filesystem::path& path, std::size_t cache_bytes,
                             unsigned threads = 1) {
    auto file = expect_value(FileSource::open(path));
    const auto header = expect_value(read_file_header(file));
    auto end = expect_value(read_dump_end(file, header));
    return {std::move(file), expect_value(FrameLoader::create(header)), std::move(end.frames),
            cache_bytes, threads};
}

}  // namespace beamdump::test
