#include "input/kept_dumps.h"

#include <libdump/base/system/file_calls.h>

#include <algorithm>
#include <sys/stat.h>
#include <utility>

namespace beamdump::input {

namespace {

/// Of a text all that was chosen is converted; an older conversion of one gets records.
bool has_choice(const KeptDump& kept, const crash::ConvertChoice& choice) {
    if (kept.opened.text_stats()) {
        return kept.choice == choice;
    }
    return kept.opened.dump().capture().mode() != records::CAPTURE_MODE_CRASH_DUMP ||
           kept.choice.other_sections == choice.other_sections;
}

}  // namespace

std::optional<FileIdentity> FileIdentity::of(const std::string& path) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
        return std::nullopt;
    }
    const auto times = system::file_times(facts);
    return FileIdentity{.device = facts.st_dev,
                        .inode = facts.st_ino,
                        .bytes = facts.st_size,
                        .modified_ns = times.modified_ns,
                        .changed_ns = times.changed_ns};
}

std::optional<KeptDump> KeptDumps::take(const std::string& path,
                                        const crash::ConvertChoice& choice) {
    const auto file = FileIdentity::of(path);
    std::erase_if(kept_, [&](const KeptDump& kept) {
        return kept.opened.path() == path && kept.file != file;
    });
    const auto found = std::ranges::find_if(kept_, [&](const KeptDump& kept) {
        return kept.opened.path() == path && has_choice(kept, choice);
    });
    if (found == kept_.end()) {
        return std::nullopt;
    }
    ++taken_;
    std::optional<KeptDump> taken(std::move(*found));
    kept_.erase(found);
    return taken;
}

void KeptDumps::keep(KeptDump kept) {
    if (kept.stop.stop_requested() || kept.opened.has_met_damage()) {
        return;
    }
    kept.opened.dump().clear_term_style();
    kept_.push_front(std::move(kept));
    if (kept_.size() > kMost) {
        kept_.pop_back();
    }
}

}  // namespace beamdump::input
