#include "cli/invocation.h"

#include "cli/progress.h"
#include "render/shared/table.h"

#include <fmt/format.h>

#include <utility>

namespace beamdump::cli {

void Invocation::report(std::string_view sentence) {
    err_.print("beamdump-analyze: {}\n", render::one_line(sentence));
}

Result<Dump*> Invocation::open(const std::string& path, const crash::ConvertChoice& choice) {
    ProgressLine line(err_);
    auto opened = input::open_dump(
        path, choice,
        [&line](std::uint64_t done, std::uint64_t total) {
            line.update("reading the crash dump", done, total);
        },
        [&line](const crash::CrashHeader& header) {
            line.say(fmt::format("crash dump of {}: {}", header.date, header.slogan));
        },
        limits_);
    line.clear();
    if (!opened) {
        return std::unexpected(opened.error());
    }
    return &opened_.emplace_back(std::move(*opened)).dump();
}

}  // namespace beamdump::cli
