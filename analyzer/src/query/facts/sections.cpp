#include "query/facts/sections.h"

#include <libdump/base/nearest.h>
#include <libdump/base/return_if_error.h>
#include <libdump/model/dump_form.h>

#include <algorithm>
#include <map>
#include <utility>

namespace beamdump::query {
Result<std::unique_ptr<SectionListing>> SectionListing::open(Dump& dump, const std::string& file,
                                                             SectionsOptions options) {
    if (!is_of_crash_dump(dump)) {
        return fail(ErrorCode::kNotFound,
                    file + " was not converted from a crash dump: only crash dumps have sections");
    }
    return std::unique_ptr<SectionListing>(new SectionListing(dump, file, std::move(options)));
}

Result<void> SectionListing::each(const std::function<void(const records::CrashSection&)>& visit) {
    for (const auto offset : dump_.trailer().crash_sections_offset()) {
        auto page = dump_.reader().message_at<records::CrashSections>(
            offset, format::RecordKind::kCrashSections);
        if (!page) {
            return wrap("reading sections", std::move(page.error()));
        }
        for (const auto& section : page->section()) {
            visit(section);
        }
    }
    return {};
}

Result<std::vector<SectionCount>> SectionListing::counts() {
    std::vector<SectionCount> counts;
    std::map<std::string, std::size_t, std::less<>> places;
    auto done = each([&](const records::CrashSection& section) {
        const auto [place, is_new] = places.try_emplace(section.tag(), counts.size());
        if (is_new) {
            counts.push_back({section.tag(), 0, 0});
        }
        auto& count = counts[place->second];
        count.sections += section.continues() ? 0 : 1;
        count.bytes += section.lines().size();
    });
    return done ? Result<std::vector<SectionCount>>(std::move(counts))
                : std::unexpected(done.error());
}

Result<SectionListing::Totals> SectionListing::show(const Visit& visit) {
    ASSIGN_OR_RETURN(auto kinds, counts());
    Totals totals;
    const auto kind = std::ranges::find(kinds, options_.tag, &SectionCount::tag);
    if (kind == kinds.end()) {
        Nearest nearest(options_.tag);
        for (const SectionCount& one : kinds) {
            nearest.add(one.tag);
        }
        totals.nearest = nearest.best();
        return totals;
    }
    const bool limits_lines = kind->sections == 1 && options_.limit != 0;
    std::uint64_t line_count = 0;
    const std::function<void(const SectionLine&)> visit_line = [&](const SectionLine& line) {
        if (!limits_lines || line_count < options_.limit) {
            visit.line(line);
        }
        ++line_count;
    };
    bool open = false;
    crash::SectionLines lines(visit_line);
    const auto end = [&] {
        if (open) {
            lines.finish();
            visit.end();
        }
    };
    auto done = each([&](const records::CrashSection& section) {
        if (section.tag() != options_.tag) {
            return;
        }
        if (!section.continues()) {
            end();
            open = options_.limit == 0 || totals.sections < options_.limit;
            ++totals.sections;
            if (open) {
                visit.begin(section.argument());
            }
        }
        if (open) {
            lines.add(section.lines());
        }
    });
    end();
    if (!done) {
        return std::unexpected(done.error());
    }
    if (limits_lines) {
        totals.lines = line_count;
    }
    return totals;
}

Result<void> SectionListing::show_kinds(std::span<const std::string_view> tags,
                                        const VisitKinds& visit) {
    bool open = false;
    crash::SectionLines lines(visit.line);
    const auto end = [&] {
        if (std::exchange(open, false)) {
            lines.finish();
            visit.end();
        }
    };
    auto done = each([&](const records::CrashSection& section) {
        if (!section.continues()) {
            end();
            open = std::ranges::find(tags, section.tag()) != tags.end();
            if (open) {
                visit.begin(section.tag(), section.argument());
            }
        }
        if (open) {
            lines.add(section.lines());
        }
    });
    end();
    return done;
}

}  // namespace beamdump::query
