#include "cli/invocation.h"

#include "cli/progress.h"
#include "query/facts/dump_facts.h"
#include "render/shared/table.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/redaction.h>

#include <fmt/format.h>

#include <utility>

namespace beamdump::cli {

void Invocation::report(std::string_view sentence) {
    err_.print("beamdump-analyze: {}\n", render::one_line(sentence));
}

Result<Dump*> Invocation::open(const std::string& path, const crash::ConvertChoice& choice,
                               Recordings recordings) {
    ProgressLine line(*this);
    auto opened = input::open_dump(
        path, choice,
        [&line](std::uint64_t done, std::uint64_t total) {
            line.update("reading the crash dump", done, total);
        },
        [&line](const crash::CrashHeader& header) {
            line.say(fmt::format("crash dump of {}: {}", header.date, header.slogan));
        },
        open_options_);
    line.clear();
    if (!opened) {
        return std::unexpected(opened.error());
    }
    auto& dump = opened_.emplace_back(std::move(*opened)).dump();
    if (recordings == Recordings::kRefused &&
        dump.capture().mode() == records::CAPTURE_MODE_RECORDING) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("{} is a recording of beamdump-watch, which has readings and no "
                                "processes: `beamdump-analyze history` shows it",
                                path));
    }
    ASSIGN_OR_RETURN(const auto redaction, redaction_of(dump.reader()));
    RETURN_IF_ERROR(check_redaction(path, redaction));
    for (const auto& note : query::text_notes(dump)) {
        report(fmt::format("{}: {}", path, note));
    }
    return &dump;
}

Result<void> Invocation::check_redaction(const std::string& path,
                                         const std::optional<std::string>& redaction) {
    if (!redaction && served_.unredacted == Unredacted::kRefused) {
        return fail(ErrorCode::kPermission,
                    fmt::format("{} is not redacted, and only redacted dumps may be opened here: "
                                "`beamdump-analyze redact {} -o FILE` makes one",
                                path, path));
    }
    if (redaction) {
        report(fmt::format("{} is redacted ({}): names, texts and numbers in it may be pseudonyms",
                           path, *redaction));
    }
    return {};
}

}  // namespace beamdump::cli
