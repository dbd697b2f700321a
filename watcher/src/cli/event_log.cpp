#include "cli/event_log.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/terminal_text.h>
#include <libdump/text/compact_json.h>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace beamdump::watch {
namespace {

constexpr std::chrono::hours kHour{1};

}  // namespace

bool EventLog::admit(std::chrono::milliseconds now, const std::string& key) {
    // What has not happened for an hour is forgotten.
    std::erase_if(written_,
                  [now](const auto& written) { return now - written.second.since >= 2 * kHour; });
    auto [found, is_new] = written_.try_emplace(key, Written{.since = now});
    auto& written = found->second;
    if (now - written.since >= kHour) {
        written = {.since = now, .repeated = written.count > kAtOnce};
    }
    return ++written.count <= kAtOnce && !written.repeated;
}

void EventLog::write(std::chrono::milliseconds now, const Event& event, const std::string& node,
                     const std::string& about) {
    look(now);
    if (admit(now, fmt::format("{} {} {}", event.kind, node, about))) {
        write_line(event, nullptr);
        return;
    }
    auto& counted = counted_.try_emplace(node, Counted{.since = now, .of_kind = {}}).first->second;
    ++counted.of_kind[std::string(event.kind)];
}

void EventLog::look(std::chrono::milliseconds now) {
    std::erase_if(counted_, [&](const auto& counted) {
        const bool due = now - counted.second.since >= kHour;
        if (due) {
            write_counted(now, counted.first, counted.second);
        }
        return due;
    });
}

void EventLog::finish(std::chrono::milliseconds now) {
    for (const auto& [node, counted] : counted_) {
        write_counted(now, node, counted);
    }
    counted_.clear();
}

void EventLog::write_counted(std::chrono::milliseconds now, const std::string& node,
                             const Counted& counted) {
    std::vector<std::string> parts;
    parts.reserve(counted.of_kind.size());
    for (const auto& [kind, count] : counted.of_kind) {
        parts.push_back(fmt::format("{} \"{}\"", beamdump::counted(count, "time"), kind));
    }
    const auto minutes = std::chrono::ceil<std::chrono::minutes>(now - counted.since).count();
    Event event{
        "repeated",
        fmt::format("{}{}not written one by one in the last {}: {}", node, node.empty() ? "" : ": ",
                    beamdump::counted(static_cast<std::uint64_t>(minutes), "minute"),
                    fmt::join(parts, ", ")),
        {}};
    if (!node.empty()) {
        event.facts.emplace_back("node", node);
    }
    write_line(event, &counted);
}

void EventLog::write_line(const Event& event, const Counted* counted) {
    const auto time =
        fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now()));
    if (!json_) {
        output_.write(fmt::format("{} {}\n", time, one_line(event.sentence)));
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
    if (counted != nullptr) {
        json.key("times");
        json.begin_object();
        for (const auto& [kind, count] : counted->of_kind) {
            json.member(kind, count);
        }
        json.end_object();
    }
    json.end_object();
    json.end_line();
    output_.flush();
}

}  // namespace beamdump::watch
