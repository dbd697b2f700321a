#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/sections/activity_sections.h>
#include <libdump/crash/import/sections/memory_sections.h>
#include <libdump/crash/import/sections/module_sections.h>
#include <libdump/crash/import/sections/section_records.h>
#include <libdump/crash/import/sections/table_sections.h>
#include <libdump/format/running_node_slogan.h>

#include <algorithm>
#include <utility>

namespace beamdump::crash {

SectionRecords::SectionRecords(Names& names, std::string_view slogan, std::uint32_t word_bytes,
                               DumpWriter& writer, records::Trailer& trailer)
    : take_line_([this](const SectionLine& line) { reader_->line(line); }),
      lines_(take_line_),
      by_vm_(!slogan.starts_with(format::kRunningNodeSlogan)) {
    readers_.push_back(port_sections(names, writer, trailer));
    readers_.push_back(timer_sections(names, writer, trailer));
    readers_.push_back(scheduler_sections(writer, trailer));
    readers_.push_back(node_sections(names, writer, trailer));
    readers_.push_back(ets_sections(names, word_bytes, writer, trailer));
    readers_.push_back(module_sections(names, writer, trailer, old_modules_));
    readers_.push_back(allocator_sections(names, writer, trailer));
}

Result<void> SectionRecords::add(const records::CrashSection& section) {
    if (!section.continues()) {
        RETURN_IF_ERROR(end());
        const auto reader = std::ranges::find_if(readers_, [&](const auto& one) {
            return std::ranges::find(one->tags(), section.tag()) != one->tags().end();
        });
        if (reader != readers_.end()) {
            reader_ = reader->get();
            reader_->begin(section.tag(), section.argument());
        }
    }
    if (reader_ != nullptr) {
        lines_.add(section.lines());
    }
    return {};
}

Result<void> SectionRecords::end() {
    if (reader_ == nullptr) {
        return {};
    }
    lines_.finish();
    return std::exchange(reader_, nullptr)->end();
}

Result<void> SectionRecords::finish() {
    RETURN_IF_ERROR(end());
    for (const auto& reader : readers_) {
        RETURN_IF_ERROR(reader->finish(by_vm_));
    }
    return {};
}

}  // namespace beamdump::crash
