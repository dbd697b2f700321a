#include <libdump/crash/import/records/relation_parser.h>
#include <libdump/crash/import/words/code_parser.h>
#include <libdump/format/format.h>
#include <libdump/write/record_limits.h>

#include <algorithm>

namespace beamdump::crash {
namespace {

constexpr std::string_view kPort = "#Port<";
constexpr std::string_view kReference = "#Ref<";

/// The text of one entry: `<0.1.0>`, or `{to,<0.1.0>,#Ref<0.1.2.3>}`.
std::string take_entry(TextCursor& text) {
    constexpr std::size_t kLongest = 4000;
    std::string entry;
    int depth = 0;
    bool quoted = false;
    while (!text.at_end() && entry.size() < kLongest) {
        const char next = text.peek();
        if (next == '\n' || (depth == 0 && !quoted && (next == ',' || next == ']'))) {
            break;
        }
        if (next == '\'') {
            quoted = !quoted;
        } else if (!quoted) {
            depth += next == '{' ? 1 : next == '}' ? -1 : 0;
        }
        entry += next;
        text.skip(1);
    }
    return entry;
}

struct Numbers {
    std::vector<std::uint64_t> values;
    std::string_view rest;
};

/// `0.1.2>` after the opening `<`.
Numbers numbers_in_brackets(std::string_view text) {
    Numbers numbers;
    while (!text.empty()) {
        std::uint64_t value = 0;
        while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
            constexpr std::uint64_t kTen = 10;
            value = value * kTen + static_cast<std::uint64_t>(text.front() - '0');
            text.remove_prefix(1);
        }
        numbers.values.push_back(value);
        if (!text.starts_with('.')) {
            break;
        }
        text.remove_prefix(1);
    }
    if (text.starts_with('>')) {
        text.remove_prefix(1);
    }
    numbers.rest = text;
    return numbers;
}

class RelationReader {
  public:
    RelationReader(const TextFormat& format, Names& names) : format_(format), names_(names) {}

    void link(std::string_view entry) {
        const bool port = entry.starts_with(kPort);
        if (!port && !entry.starts_with('<')) {
            return;
        }
        const auto numbers = numbers_in_brackets(entry.substr(port ? kPort.size() : 1)).values;
        auto& link = *page().add_link();
        if (numbers.size() < 2) {
            return;
        }
        if (numbers[0] != 0) {
            link.set_kind(records::LINK_KIND_REMOTE);
            link.set_remote_owner_id(
                format::owner_id_of(numbers[1], numbers.size() > 2 ? numbers[2] : 0));
            link.set_remote_node_address(names_.node_of_channel(numbers[0]));
        } else if (port) {
            link.set_kind(records::LINK_KIND_PORT);
            link.set_other_word(format_.words.port(numbers[1]));
        } else {
            link.set_kind(records::LINK_KIND_PROCESS);
            link.set_other_word(format_.words.pid(numbers[1], numbers.size() > 2 ? numbers[2] : 0));
        }
    }

    void monitor(std::string_view entry) {
        const bool target = entry.starts_with("{from,");
        if (!target && !entry.starts_with("{to,")) {
            return;
        }
        auto& monitor = *page().add_monitor();
        monitor.set_is_target(target);
        entry.remove_prefix(entry.find(',') + 1);
        other(entry, monitor);
        if (const auto reference = entry.rfind(kReference); reference != std::string_view::npos) {
            auto numbers = numbers_in_brackets(entry.substr(reference + kReference.size())).values;
            // Printed with the node's channel before them, the highest first; of a reference that
            // knows its process, that one's come before the three that it goes by.
            constexpr std::size_t kNumbers = 3;
            const auto first =
                std::max<std::size_t>(1, numbers.size() - std::min(numbers.size(), kNumbers));
            for (std::size_t at = numbers.size(); at-- > first;) {
                monitor.add_reference(static_cast<std::uint32_t>(numbers[at]));
            }
        }
    }

    std::vector<records::Relations> take() { return std::move(pages_); }

  private:
    /// The process, port or name that is monitored or monitors.
    void other(std::string_view text, records::Monitor& monitor) {
        if (text.starts_with('<') || text.starts_with(kPort)) {
            const bool port = text.starts_with(kPort);
            const auto numbers = numbers_in_brackets(text.substr(port ? kPort.size() : 1)).values;
            if (numbers.size() < 2) {
                return;
            }
            const auto serial = numbers.size() > 2 ? numbers[2] : 0;
            if (numbers[0] != 0) {
                monitor.set_kind(records::MONITOR_KIND_REMOTE);
                monitor.set_remote_owner_id(format::owner_id_of(numbers[1], serial));
                monitor.set_remote_node_address(names_.node_of_channel(numbers[0]));
            } else {
                monitor.set_kind(port ? records::MONITOR_KIND_PORT : records::MONITOR_KIND_PROCESS);
                monitor.set_other_word(port ? format_.words.port(numbers[1])
                                            : format_.words.pid(numbers[1], serial));
            }
            return;
        }
        // A node, whose monitor has no reference; or the clock service.
        if (!text.starts_with('{')) {
            const bool node = text.ends_with(",[]}");
            if (const auto name = parse_atom(text)) {
                monitor.set_kind(node ? records::MONITOR_KIND_NODE
                                      : records::MONITOR_KIND_TIME_OFFSET);
                monitor.set_other_word(format_.words.atom(names_.atom(*name)));
            }
            return;
        }
        // {Name,Node}; or of a resource that a native function monitors with, {Module,Type}.
        text.remove_prefix(1);
        const auto first = parse_atom(text);
        if (!first || !text.starts_with(',')) {
            return;
        }
        text.remove_prefix(1);
        const auto second = parse_atom(text);
        if (!second) {
            return;
        }
        if (monitor.is_target()) {
            monitor.set_kind(records::MONITOR_KIND_RESOURCE);
            monitor.set_name_atom(names_.atom(*first));
            monitor.set_resource_type_atom(names_.atom(*second));
            return;
        }
        const bool remote = format_.names_node && *second != format_.node_name;
        monitor.set_kind(remote ? records::MONITOR_KIND_REMOTE : records::MONITOR_KIND_PROCESS);
        monitor.set_name_atom(names_.atom(*first));
        monitor.set_node_atom(names_.atom(*second));
    }

    records::Relations& page() {
        if (pages_.empty() || pages_.back().link_size() + pages_.back().monitor_size() >=
                                  static_cast<int>(limits::kRelationsOfAPage)) {
            pages_.emplace_back();
        }
        if (names_.budget() != nullptr) {
            names_.budget()->use_memory(kRelationMemory);
        }
        return pages_.back();
    }

    const TextFormat& format_;
    Names& names_;
    std::vector<records::Relations> pages_;
};

}  // namespace

std::vector<records::Relations> take_relations(TextCursor& text, const TextFormat& format,
                                               Names& names) {
    RelationReader reader(format, names);
    text.take('[');
    while (names.check() && !text.at_end() && text.peek() != '\n' && text.peek() != ']') {
        const auto entry = take_entry(text);
        if (entry.starts_with('{')) {
            reader.monitor(entry);
        } else {
            reader.link(entry);
        }
        if (!text.take(',')) {
            break;
        }
        text.take(' ');
    }
    text.skip_line();
    return reader.take();
}

}  // namespace beamdump::crash
