#pragma once

#include <libdump/read/dump_reader.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace beamdump::test {

/// Does all that can be done with a dump: opens it, walks every record, follows every offset that
/// the index names, reads the stream through the device. Aborts where the reader is inconsistent;
/// what sanitizers find, they report.
inline void exhaust_reader(const std::filesystem::path& path) {
    auto reader = DumpReader::open(path, {.cache_bytes = 8192});
    if (!reader) {
        if (reader.error().message.empty()) {
            std::abort();
        }
        return;
    }
    auto record = reader->first();
    std::uint64_t reached = 0;
    while (true) {
        if (!record) {
            record = reader->first_readable_after(reached);
        }
        if (!record || !*record) {
            break;
        }
        if ((*record)->offset < reached || (*record)->offset + 8 > reader->flat_bytes()) {
            std::abort();
        }
        reached = (*record)->offset;
        const auto again = reader->record_at(reached);
        if (!again || again->payload.size() != (*record)->payload.size()) {
            std::abort();
        }
        records::Process process;
        (void)DumpReader::parse_into(**record, format::RecordKind::kProcess, process);
        record = reader->next(**record);
    }
    (void)reader->record_at(reader->trailer().node_offset());
    (void)reader->record_at(reader->trailer().capture_offset());
    if (const RecoveredIndex* index = reader->recovered()) {
        for (const auto& row : index->processes) {
            (void)reader->record_at(row.begin_offset());
            if (!reader->record_at(row.end_offset())) {
                std::abort();  // it was there a moment ago
            }
        }
        if (!std::ranges::is_sorted(index->binaries, {}, &BinaryLocation::address)) {
            std::abort();
        }
    }
    std::vector<std::byte> part(3000);
    for (std::uint64_t offset = 0; offset < reader->flat_bytes(); offset += part.size()) {
        if (offset > 64 * part.size()) {
            break;  // a gap may make the stream look as long as it likes
        }
        (void)reader->read(offset, part);
    }
}

}  // namespace beamdump::test
