#pragma once

#include <libdump/read/dump_reader.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace beamdump::test {

struct SeenRecord {
    format::RecordKind kind{};
    std::uint64_t offset = 0;
    std::string payload;
    bool operator==(const SeenRecord&) const = default;
};

inline SeenRecord seen(const RecordView& record) {
    return {
        record.kind, record.offset,
        std::string(reinterpret_cast<const char*>(record.payload.data()), record.payload.size())};
}

/// All records that can be read, and the errors met between them.
struct Walked {
    std::vector<SeenRecord> records;
    std::vector<Error> errors;
};

/// Walks all records from the first on; behind an error at the next frame that can be read.
inline Walked walk(DumpReader& reader) {
    Walked walked;
    auto record = reader.first();
    std::uint64_t reached = 0;
    while (true) {
        if (!record) {
            walked.errors.push_back(record.error());
            record = reader.first_readable_after(reached);
            if (!record) {
                walked.errors.push_back(record.error());
                return walked;
            }
        }
        if (!*record) {
            return walked;
        }
        walked.records.push_back(seen(**record));
        reached = (*record)->offset;
        record = reader.next(**record);
    }
}

}  // namespace beamdump::test
