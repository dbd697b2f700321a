#include "cli/event_log.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/terminal_text.h>
#include <libdump/text/compact_json.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace beamdump::watch {

void EventLog::write(std::chrono::milliseconds now, const Event& event, const std::string& about) {
    constexpr std::chrono::hours kHour{1};
    auto& written = written_[fmt::format("{} {}", event.kind, about)];
    if (written.count == 0 || now - written.since >= kHour) {
        written.since = now;
        written.count = 0;
    }
    if (++written.count > kAtOnce) {
        ++written.left_out;
        return;
    }
    const auto left_out = std::exchange(written.left_out, 0);
    const auto time =
        fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now()));
    if (!json_) {
        output_.write(fmt::format(
            "{} {}{}\n", time, one_line(event.sentence),
            left_out == 0 ? ""
                          : fmt::format(" ({} like this left out before)", count_text(left_out))));
        output_.flush();
        return;
    }
    CompactJson json(output_);
    json.begin_object();
    json.member("time", std::string_view(time));
    json.member("event", event.kind);
    for (const auto& [name, value] : event.facts) {
        json.member(name, std::string_view(value));
    }
    json.member("sentence", std::string_view(event.sentence));
    if (left_out != 0) {
        json.member("left_out_before", left_out);
    }
    json.end_object();
    json.end_line();
    output_.flush();
}

}  // namespace beamdump::watch
