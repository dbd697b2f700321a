#include "cli/invocation.h"

#include "cli/progress.h"
#include "query/facts/dump_facts.h"
#include "render/shared/table.h"

#include <libdump/base/return_if_error.h>
#include <libdump/model/redaction.h>

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace beamdump::cli {

void Invocation::report(std::string_view sentence) {
    err_.print("beamdump-analyze: {}\n", render::one_line(sentence));
}

Result<input::OpenedDump> Invocation::open_file(const std::string& path,
                                                const crash::ConvertChoice& choice,
                                                const input::OpenOptions& options) {
    ProgressLine line(*this);
    auto opened = input::open_dump(
        path, choice,
        [&line](std::uint64_t done, std::uint64_t total) {
            line.update("reading the crash dump", done, total);
        },
        [&line](const crash::CrashHeader& header) {
            line.say(fmt::format("crash dump of {}: {}", header.date, header.slogan));
        },
        options);
    line.clear();
    return opened;
}

Result<void> Invocation::open_kept(const std::string& path, const crash::ConvertChoice& choice) {
    Lease lease{.file = input::FileIdentity::of(path), .choice = choice, .stop = {}};
    std::optional<input::OpenedDump> opened;
    if (auto kept = served_.kept->take(path, choice)) {
        lease.file = kept->file;
        lease.stop = std::move(kept->stop);
        opened = std::move(kept->opened);
    }
    lease.forward = std::make_unique<StopForward>(
        open_options_.limits.stop, [stop = lease.stop]() mutable { stop.request_stop(); });
    if (!opened) {
        auto options = open_options_;
        options.limits.stop = lease.stop.get_token();
        ASSIGN_OR_RETURN(opened, open_file(path, choice, options));
        // Not one that changed meanwhile.
        if (input::FileIdentity::of(path) != lease.file) {
            lease.file.reset();
        }
    }
    leases_.push_back(std::move(lease));
    opened_.push_back(std::move(*opened));
    return {};
}

void Invocation::keep_opened() {
    if (served_.kept == nullptr) {
        return;
    }
    for (std::size_t at = 0; at < opened_.size(); ++at) {
        auto& lease = leases_[at];
        lease.forward.reset();
        if (lease.file) {
            served_.kept->keep({.opened = std::move(opened_[at]),
                                .file = *lease.file,
                                .choice = std::move(lease.choice),
                                .stop = std::move(lease.stop)});
        }
    }
    opened_.clear();
    leases_.clear();
}

Result<Dump*> Invocation::open(const std::string& path, const crash::ConvertChoice& choice,
                               Recordings recordings) {
    if (served_.kept != nullptr) {
        RETURN_IF_ERROR(open_kept(path, choice));
    } else {
        ASSIGN_OR_RETURN(auto opened, open_file(path, choice, open_options_));
        opened_.push_back(std::move(opened));
    }
    auto& dump = opened_.back().dump();
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
