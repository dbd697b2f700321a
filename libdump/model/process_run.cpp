#include <libdump/base/return_if_error.h>
#include <libdump/model/owner_id.h>
#include <libdump/model/process_run.h>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace beamdump {

namespace {

template <typename Refs>
void add_packs(const Refs& refs, std::vector<Pack>& into) {
    for (const auto& ref : refs) {
        into.push_back({ref.offset(), ref.first_index(), ref.count(), ref.lowest_address(),
                        ref.highest_address()});
    }
}

Result<void> add_page(const records::RunDirectory& page, Directory& into) {
    for (const auto& ref : page.region()) {
        ASSIGN_OR_RETURN(auto region, region_of(ref));
        into.regions.push_back(region);
    }
    add_packs(page.packed_regions(), into.packed_regions);
    add_packs(page.messages(), into.messages);
    add_packs(page.relations(), into.relations);
    add_packs(page.binaries(), into.binaries);
    return {};
}

/// A forged directory may refer to a record many times.
void keep_distinct(std::vector<Pack>& packs) {
    std::unordered_set<std::uint64_t> seen;
    std::erase_if(packs, [&seen](const Pack& pack) { return !seen.insert(pack.offset).second; });
}

}  // namespace

Result<Directory> read_directory(DumpReader& reader, const records::RunDirectory& last,
                                 std::uint64_t last_offset) {
    Directory directory;
    RETURN_IF_ERROR(add_page(last, directory));
    std::uint64_t offset = last_offset;
    std::uint64_t previous = last.previous_offset();
    while (previous != 0) {
        if (previous >= offset) {
            return fail(ErrorCode::kCorrupt,
                        fmt::format("the directory page at offset {} of the dump names the page at "
                                    "{} as its predecessor",
                                    offset, previous));
        }
        offset = previous;
        auto page =
            reader.message_at<records::RunDirectory>(offset, format::RecordKind::kRunDirectory);
        if (!page) {
            return wrap("reading a directory page", std::move(page.error()));
        }
        RETURN_IF_ERROR(add_page(*page, directory));
        previous = page->previous_offset();
    }
    for (auto* packs : {&directory.packed_regions, &directory.relations, &directory.binaries}) {
        std::ranges::sort(*packs, {}, &Pack::offset);
        keep_distinct(*packs);
    }
    std::ranges::sort(directory.messages, [](const Pack& a, const Pack& b) {
        return std::pair(a.first_index, a.offset) < std::pair(b.first_index, b.offset);
    });
    keep_distinct(directory.messages);
    return directory;
}

const Region* ProcessRun::region(format::RegionKind kind) const {
    const auto found = std::ranges::find(directory.regions, kind, &Region::kind);
    return found == directory.regions.end() ? nullptr : &*found;
}

Result<ProcessRun> ProcessRun::load(DumpReader& reader, const records::ProcessRow& row) {
    const auto doing = [&row] {
        return fmt::format("reading process {}", pid_text(row.owner_id()));
    };
    auto process =
        reader.message_at<records::Process>(row.begin_offset(), format::RecordKind::kProcess);
    if (!process) {
        return wrap(doing(), std::move(process.error()));
    }
    auto end =
        reader.message_at<records::ProcessEnd>(row.end_offset(), format::RecordKind::kProcessEnd);
    if (!end) {
        return wrap(doing(), std::move(end.error()));
    }
    if (process->owner_id() != row.owner_id() || end->owner_id() != row.owner_id()) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("the index places {} at offset {} of the dump, which has {}",
                                pid_text(row.owner_id()), row.begin_offset(),
                                pid_text(process->owner_id())));
    }
    auto directory = read_directory(reader, end->directory(), row.end_offset());
    if (!directory) {
        return wrap(doing(), std::move(directory.error()));
    }
    return ProcessRun{row, std::move(*process), std::move(*end), std::move(*directory)};
}

Withheld terms_withheld(const ProcessRun& run, bool sensitive) {
    if (run.is_void()) {
        return Withheld::kVoid;
    }
    return run.process.sensitive() && !sensitive ? Withheld::kSensitive : Withheld::kNo;
}

}  // namespace beamdump
