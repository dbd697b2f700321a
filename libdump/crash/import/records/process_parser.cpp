#include <libdump/base/decimal.h>
#include <libdump/crash/import/records/process_parser.h>
#include <libdump/crash/import/records/relation_parser.h>
#include <libdump/crash/import/words/code_parser.h>
#include <libdump/format/process_flags.h>
#include <libdump/format/process_row.h>

#include <array>
#include <limits>

namespace beamdump::crash {
namespace {

constexpr std::size_t kLongestValue = 64U << 10U;

struct StateName {
    std::string_view text;
    records::ProcessStatus status;
};
/// erl_process_dump.c, erts_dump_process_state().
constexpr std::array kStates = {
    StateName{"Waiting", records::PROCESS_STATUS_WAITING},
    StateName{"Scheduled", records::PROCESS_STATUS_RUNNABLE},
    StateName{"Running", records::PROCESS_STATUS_RUNNING},
    StateName{"Suspended", records::PROCESS_STATUS_SUSPENDED},
    StateName{"Garbing", records::PROCESS_STATUS_GARBAGE_COLLECTING},
    StateName{"Exiting", records::PROCESS_STATUS_EXITING},
    StateName{"Non Existing", records::PROCESS_STATUS_FREE},
};

/// Takes the section's lines one by one.
class ProcessReader {
  public:
    ProcessReader(const TextFormat& format, Names& names, ParsedProcess& into)
        : format_(format), names_(names), into_(into), process_(into.process) {}

    void line(std::string_view key, std::string_view value) {
        if (!identity(key, value) && !code(key, value)) {
            sizes(key, value);
        }
    }
    void finish();

  private:
    bool identity(std::string_view key, std::string_view value);
    bool code(std::string_view key, std::string_view value);
    void sizes(std::string_view key, std::string_view value);
    void function(std::string_view value, records::Mfa& into);

    const TextFormat& format_;
    Names& names_;
    ParsedProcess& into_;
    records::Process& process_;
    std::optional<std::uint64_t> old_unused_;
    std::optional<std::uint64_t> binary_unused_;
    std::optional<std::uint64_t> old_binary_unused_;
};

void ProcessReader::function(std::string_view value, records::Mfa& into) {
    const auto parsed = parse_function(value);
    if (!parsed) {
        return;
    }
    into.set_module_atom(names_.atom(parsed->module));
    into.set_function_atom(names_.atom(parsed->function));
    into.set_arity(parsed->arity);
}

bool ProcessReader::identity(std::string_view key, std::string_view value) {
    if (key == "State") {
        for (const auto& state : kStates) {
            if (value == state.text) {
                process_.set_status(std::string(status_name(state.status)));
            }
        }
    } else if (key == "Name") {
        if (const auto name = parse_atom(value)) {
            process_.set_registered_name_atom(names_.atom(*name));
        }
    } else if (key == "Spawned as") {
        function(value, *process_.mutable_initial_call());
    } else if (key == "Spawned by") {
        if (const auto parent = CrashDump::parse_owner(value)) {
            constexpr unsigned kSerialShift = 32;
            process_.set_parent_word(
                format_.words.pid(*parent & 0xFFFF'FFFFU, *parent >> kSerialShift));
        }
    } else if (key == "Internal State") {
        if (const auto bits = state_bits_of_text(value)) {
            process_.set_state_bits(*bits);
        }
        for (const std::string_view level : {"MAX", "HIGH", "NORMAL", "LOW"}) {
            const auto at = value.find("USR_PRIO_");
            if (at != std::string_view::npos && value.substr(at + 9).starts_with(level)) {
                std::string lower(level);
                for (auto& letter : lower) {
                    letter = static_cast<char>(letter - 'A' + 'a');
                }
                process_.set_priority(lower);
            }
        }
    } else {
        return false;
    }
    return true;
}

bool ProcessReader::code(std::string_view key, std::string_view value) {
    if (key == "Current call" || key == "Last scheduled in for") {
        function(value, *process_.mutable_current_function());
    } else if (key == "Program counter") {
        if (const auto address = note_code(value, 0, names_)) {
            process_.set_instruction_address(*address);
        }
        const auto open = value.find('(');
        if (open != std::string_view::npos && !process_.has_current_function()) {
            if (parse_function(value.substr(open + 1))) {
                function(value.substr(open + 1), *process_.mutable_current_function());
            }
        }
    } else {
        return false;
    }
    return true;
}

void ProcessReader::sizes(std::string_view key, std::string_view value) {
    const auto count = decimal_number(value);
    if (!count) {
        return;
    }
    if (key == "Message queue length") {
        process_.set_message_queue_length(*count);
    } else if (key == "Number of heap fragments") {
        process_.set_heap_fragments(*count);
    } else if (key == "Heap fragment data") {
        process_.set_fragment_words(*count);
    } else if (key == "Reductions") {
        process_.set_reductions(*count);
    } else if (key == "Stack+heap") {
        process_.set_heap_words(*count);
    } else if (key == "OldHeap") {
        process_.set_old_heap_words(*count);
    } else if (key == "Heap unused") {
        into_.heap_unused_words = *count;
        into_.has_heap_unused = true;
    } else if (key == "OldHeap unused") {
        old_unused_ = count;
    } else if (key == "BinVHeap") {
        process_.set_off_heap_overhead_words(*count);
    } else if (key == "OldBinVHeap") {
        process_.set_old_binary_virtual_heap_words(*count);
    } else if (key == "BinVHeap unused") {
        binary_unused_ = count;
    } else if (key == "OldBinVHeap unused") {
        old_binary_unused_ = count;
    } else if (key == "Memory") {
        into_.memory_bytes = count;
    } else if (key == "arity ") {
        process_.set_arity(static_cast<std::uint32_t>(*count));
    }
}

/// Facts derived from several lines.
void ProcessReader::finish() {
    auto& process = process_;
    if (process.has_heap_words() && into_.has_heap_unused &&
        into_.heap_unused_words <= process.heap_words()) {
        process.set_heap_used_words(process.heap_words() - into_.heap_unused_words);
    }
    if (process.has_old_heap_words() && old_unused_ && *old_unused_ <= process.old_heap_words()) {
        process.set_old_heap_used_words(process.old_heap_words() - *old_unused_);
    }
    if (process.has_off_heap_overhead_words() && binary_unused_) {
        process.set_binary_virtual_heap_words(process.off_heap_overhead_words() + *binary_unused_);
    }
    if (process.has_old_binary_virtual_heap_words() && old_binary_unused_) {
        process.set_old_binary_virtual_heap_block_words(process.old_binary_virtual_heap_words() +
                                                        *old_binary_unused_);
    }
    if (format_.memory_of_heaps && process.has_heap_words() && process.has_old_heap_words()) {
        into_.memory_bytes =
            (process.heap_words() + process.old_heap_words() + process.fragment_words()) *
            format_.word_bytes;
    }
}

}  // namespace

Result<ParsedProcess> parse_process(const TextSource& source, TextWindow& window,
                                    const ProcessSections& sections, const TextFormat& format,
                                    Names& names) {
    ParsedProcess result;
    result.process.set_owner_id(sections.owner_id);
    constexpr unsigned kSerialShift = 32;
    result.process.set_pid_word(
        format.words.pid(sections.owner_id & 0xFFFF'FFFFU, sections.owner_id >> kSerialShift));
    ProcessReader reader(format, names, result);
    TextCursor text(source, sections.facts.begin, sections.facts.end,
                    window.look(sections.facts.begin, sections.facts.end));
    constexpr std::string_view kLinks = "Link list: ";
    bool has_relations = false;
    while (!text.at_end()) {
        if (text.look(kLinks.size()).starts_with(kLinks)) {
            text.skip(kLinks.size());
            result.relations = take_relations(text, format, names);
            has_relations = true;
            continue;
        }
        const auto line = text.take_line(kLongestValue);
        // "arity = 0" alone has no colon.
        const auto separator = line.starts_with("arity =") ? line.find("= ") : line.find(": ");
        if (separator != std::string::npos) {
            // Behind the links, which the VM prints only if there are any.
            has_relations |= line.starts_with("Reductions: ");
            reader.line(std::string_view(line).substr(0, separator),
                        std::string_view(line).substr(separator + 2));
        }
    }
    reader.finish();
    result.has_relations =
        has_relations && status_of_name(result.process.status()) != records::PROCESS_STATUS_EXITING;
    for (const auto& page : result.relations) {
        result.links += static_cast<std::uint64_t>(page.link_size());
        result.monitors += static_cast<std::uint64_t>(page.monitor_size());
        result.counts.add(page);
    }
    return text.error() ? Result<ParsedProcess>(std::unexpected(*text.error()))
                        : Result<ParsedProcess>(std::move(result));
}

}  // namespace beamdump::crash
