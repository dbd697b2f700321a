// Writes the committed corpora of dump_reader_fuzz and dump_records_fuzz below a directory.

#include "support/dump_builder.h"
#include "support/memory_file.h"
#include "unit/analyzer/sample_profile.h"

#include <libdump/read/dump_reader.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace {

using namespace beamdump;
using namespace beamdump::test;

void put(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
}

void put(const std::filesystem::path& path, std::string_view text) {
    put(path, std::as_bytes(std::span(text)));
}

void make_files(const std::filesystem::path& directory, std::span<const std::byte> dump) {
    put(directory / "whole", dump);
    put(directory / "cut-in-header", dump.first(20));
    put(directory / "header-only", dump.first(56));
    put(directory / "cut-in-frame", dump.first(dump.size() / 2));
    put(directory / "cut-in-seek-table", dump.first(dump.size() - 5));
    std::vector<std::byte> changed(dump.begin(), dump.end());
    changed[dump.size() / 2] ^= std::byte{1};
    put(directory / "flipped-in-frame", changed);
    put(directory / "cut-and-flipped", std::span(changed).first(dump.size() - 300));
    put(directory / "empty", std::string_view());
    put(directory / "crash-dump", std::string_view("=erl_crash_dump:0.5\nMon Jan  1\n"));
}

/// The stream without its FrameStarts, behind dump_records_fuzz's own nine bytes.
void make_records(const std::filesystem::path& directory, const std::string& name,
                  const std::filesystem::path& dump) {
    auto reader = expect_value(DumpReader::open(dump));
    std::vector<std::byte> records(9);
    for (auto record = expect_value(reader.first()); record;
         record = expect_value(reader.next(*record))) {
        const std::size_t begin = records.size();
        std::memcpy(&records[1], &record->offset,
                    sizeof(record->offset));  // in the end, the trailer's
        records.resize(begin + (8 + record->payload.size() + 7) / 8 * 8);
        expect_value(reader.read(record->offset, std::span(records).subspan(begin)));
    }
    for (const unsigned flags : {0U, 1U, 2U, 3U}) {
        records[0] = std::byte(flags);
        put(directory / (name + "-" + std::to_string(flags)), records);
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        return 2;
    }
    const std::filesystem::path directory = arguments[1];
    const auto dump = DumpBuilder::whole({.frame_bytes = 1024}, {.processes = 2});
    make_files(directory / "dump_reader_fuzz", dump);
    make_records(directory / "dump_records_fuzz", "records", MemoryFile(dump).path());
    // Small: as much of it as possible is samples.
    DumpBuilder sampled({.frame_bytes = 1024});
    sampled.add_node();
    sampled.add_atoms(0, kSampleAtoms);
    add_profile(sampled);
    make_records(directory / "dump_records_fuzz", "samples", MemoryFile(sampled.finish()).path());
    return 0;
}
