#include "input/opened_dump.h"

#include <libdump/base/return_if_error.h>
#include <libdump/crash/open/lazy_process_context.h>
#include <libdump/crash/open/older_conversion.h>
#include <libdump/crash/text/crash_dump.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string_view>
#include <sys/stat.h>

namespace beamdump::input {

using namespace std::string_view_literals;

bool is_crash_dump(const std::string& path) {
    struct stat status{};
    if (path == "-") {
        return true;
    }
    if (::stat(path.c_str(), &status) != 0) {
        return false;
    }
    if (S_ISFIFO(status.st_mode)) {
        return true;
    }
    if (!S_ISREG(status.st_mode)) {
        return false;
    }
    // Crash dumps before R10 had no sections: distinguished from other files.
    constexpr std::array kStarts = {"<Erlang crash dump>"sv, "ENC0"sv, "\x1f\x8b"sv,
                                    "\xfd"
                                    "7zXZ\0"sv,
                                    "\x28\xb5\x2f\xfd"sv};
    constexpr std::size_t kLookedFirst = 512;
    std::ifstream file(path, std::ios::binary);
    std::string front;
    const auto look = [&](std::size_t bytes) {
        const auto held = front.size();
        front.resize(bytes);
        file.read(front.data() + held, static_cast<std::streamsize>(bytes - held));
        front.resize(held + static_cast<std::size_t>(file.gcount()));
        return crash::find_dump_begin(front).has_value();
    };
    if (look(kLookedFirst)) {
        return true;
    }
    std::string_view start = front;
    start.remove_prefix(std::min(start.find_first_not_of("\r\n"), start.size()));
    if (std::ranges::any_of(kStarts,
                            [start](std::string_view known) { return start.starts_with(known); })) {
        return true;
    }
    // A dump of our own has no lines of a log before it.
    return !front.contains('\0') && look(crash::kMostLeadingBytes);
}

std::vector<std::string> OpenedDump::missing() const {
    std::vector<std::string> all;
    if (!dump_->capture().cut_off().empty()) {
        all.push_back(dump_->capture().cut_off());
    }
    auto counts = dump_->text_damage().counts();
    if (const auto& terms = text_.outcome.lazy_terms) {
        counts.add(terms->met());
    }
    std::ranges::move(counts.sentences(), std::back_inserter(all));
    return all;
}

bool OpenedDump::has_met_damage() const {
    const DumpReader& reader = dump_->reader();
    return dump_->faults().first() || reader.unreadable() || reader.skipped_index_entries() != 0 ||
           !missing().empty();
}

std::optional<OpenedDump::TextStats> OpenedDump::text_stats() const {
    if (!text_.text) {
        return std::nullopt;
    }
    const auto& text = text_.text->text();
    return TextStats{text.bytes_read(), text.size(), text_.kept};
}

Result<OpenedDump> open_dump(const std::string& path, const crash::ConvertChoice& choice,
                             const crash::CrashDump::Progress& progress,
                             const crash::CrashDump::HeaderSeen& header_seen,
                             const OpenOptions& options) {
    OpenedDump opened;
    const DumpReaderOptions reading{.threads = options.threads, .stop = options.limits.stop};
    opened.path_ = path;
    if (!is_crash_dump(path)) {
        ASSIGN_OR_RETURN(auto dump, Dump::open(path, reading));
        if (choice.other_sections) {
            ASSIGN_OR_RETURN(auto renewed, crash::with_section_records(*dump, path));
            if (renewed) {
                ASSIGN_OR_RETURN(dump, Dump::open(std::move(*renewed).take(), path, reading));
            }
        }
        opened.dump_ = std::move(dump);
        return opened;
    }
    ASSIGN_OR_RETURN(auto text, crash::open_text(path, choice, options.cache, progress, header_seen,
                                                 options.limits, options.key));
    auto file = std::move(text.dump);
    opened.text_ = std::move(text);
    ASSIGN_OR_RETURN(auto dump, Dump::open(std::move(file), path, reading));
    opened.dump_ = std::move(dump);
    crash::supply_lazily(*opened.dump_, opened.text_.outcome.lazy_terms.get());
    return opened;
}

}  // namespace beamdump::input
