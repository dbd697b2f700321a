#include "query/term/beam_records.h"

#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/beam/beam_records.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

namespace beamdump::query {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20U;

Result<std::vector<std::uint8_t>> contents(const fs::path& path) {
    std::error_code unknown;
    const auto size = fs::file_size(path, unknown);
    if (unknown) {
        return fail(ErrorCode::kIo, unknown.message());
    }
    if (size > kLargestFile) {
        return fail(ErrorCode::kLimit, "it has more than 64 MiB");
    }
    std::vector<std::uint8_t> bytes(size);
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
    if (!file) {
        return fail(ErrorCode::kIo, "it cannot be read");
    }
    return bytes;
}

Result<void> add_file(const fs::path& path, RecordNames& records, BeamFilesRead& read) {
    ASSIGN_OR_RETURN(const auto bytes, contents(path));
    ASSIGN_OR_RETURN(auto found, beam_records(bytes));
    read.without_information += found.has_information ? 0 : 1;
    for (auto& record : found.records) {
        records.add(path.stem().string(), std::move(record.tag), std::move(record.fields));
    }
    return {};
}

}  // namespace

Result<BeamFilesRead> read_beam_records(const std::string& path, RecordNames& records) {
    std::vector<fs::path> files;
    std::error_code failed;
    if (fs::is_directory(path, failed)) {
        fs::directory_iterator entries(path, failed);
        for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
            if (entries->path().extension() == ".beam") {
                files.push_back(entries->path());
            }
        }
        if (failed) {
            return fail(ErrorCode::kIo,
                        fmt::format("the directory {} cannot be read: {}", path, failed.message()));
        }
        if (files.empty()) {
            return fail(ErrorCode::kNotFound,
                        fmt::format("there is no .beam file in the directory {}", path));
        }
        std::ranges::sort(files);
    } else if (fs::exists(path, failed)) {
        files.emplace_back(path);
    } else {
        return fail(ErrorCode::kNotFound,
                    fmt::format("there is no directory or .beam file {}", path));
    }
    BeamFilesRead read;
    for (const auto& file : files) {
        ++read.files;
        if (auto added = add_file(file, records, read); !added) {
            ++read.unreadable;
            if (!read.first_unreadable) {
                read.first_unreadable =
                    fmt::format("{}: {}", file.filename().string(), added.error().message);
            }
        }
    }
    return read;
}

}  // namespace beamdump::query
