#include <libdump/crash/import/records/node_parser.h>
#include <libdump/crash/import/words/code_parser.h>
#include <libdump/format/erts_version.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace beamdump::crash {
namespace {

constexpr std::size_t kLongestNodeLine = 64U << 10U;

/// A number after `key` in `text`.
std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
    const auto at = text.find(key);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    text.remove_prefix(at + key.size());
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::string text_between(std::string_view text, std::string_view before, std::string_view after) {
    const auto at = text.find(before);
    if (at == std::string_view::npos) {
        return {};
    }
    text.remove_prefix(at + before.size());
    return std::string(text.substr(0, text.find_first_of(after)));
}

/// `Erlang/OTP 27 [erts-15.2.7] [source] [64-bit] [smp:2:2] ...`, before R17 `Erlang R15B03
/// (erts-5.9.3.1) ...`, in the oldest dumps `Erlang (BEAM) emulator version 5.4.13 ...`.
void read_version(std::string_view version, records::Node& node) {
    node.set_system_version(std::string(version));
    auto release = text_between(version, "Erlang/OTP ", " ");
    if (release.empty()) {
        release = text_between(version, "Erlang ", " ");
    }
    if (!release.empty() && release.front() != '(') {
        node.set_otp_release(release);
    }
    auto erts = text_between(version, "erts-", "])");
    if (erts.empty()) {
        erts = text_between(version, "emulator version ", " ");
    }
    if (!erts.empty()) {
        node.set_erts_version(erts);
    }
    constexpr std::uint32_t kSmallWords = 4;
    constexpr std::uint32_t kLargeWords = 8;
    const bool large = version.find("64-bit") != std::string_view::npos;
    node.set_word_size(large || version.empty() ? kLargeWords : kSmallWords);
    if (!version.empty()) {
        node.set_jit(version.find("[jit") != std::string_view::npos);
    }
    if (const auto schedulers = number_after(version, "[smp:")) {
        node.set_schedulers(static_cast<std::uint32_t>(*schedulers));
    }
    if (const auto dirty = number_after(version, "[ds:")) {
        node.set_dirty_cpu_schedulers(static_cast<std::uint32_t>(*dirty));
        const auto numbers = text_between(version, "[ds:", "]");
        if (const auto last = numbers.rfind(':'); last != std::string::npos) {
            if (const auto io = number_after(numbers.substr(last), ":")) {
                node.set_dirty_io_schedulers(static_cast<std::uint32_t>(*io));
            }
        }
    }
}

/// The first with a line about a process's memory: R16B01's.
constexpr ErtsVersion kTellsMemory = {{5, 10, 2}};

/// The scheme whose objects have the sizes of the node's release; for an unknown release, the
/// scheme with the smallest objects.
format::TermScheme scheme_for(const records::Node& node) {
    using format::TermScheme;
    struct From {
        ErtsVersion erts;  // the first version that has it
        TermScheme scheme = TermScheme::kUnknown;
    };
    // OTP 28, 27, 26, 25, R12B and before.
    constexpr std::array kSchemes = {
        From{{{16}}, TermScheme::kOtp29}, From{{{15}}, TermScheme::kOtp27},
        From{{{14}}, TermScheme::kOtp26}, From{{{13}}, TermScheme::kOtp25},
        From{{{5, 6}}, TermScheme::kR12}, From{{}, TermScheme::kR11}};
    const auto erts = erts_version(node.erts_version());
    if (!erts.is_known()) {
        return TermScheme::kOtp29;
    }
    return std::ranges::find_if(kSchemes, [&erts](const From& from) { return erts >= from.erts; })
        ->scheme;
}

bool has_base64(std::string_view version) {
    const auto dot = version.find('.');
    const auto major = number_after(version, "").value_or(0);
    const auto minor =
        dot == std::string_view::npos ? 0 : number_after(version.substr(dot), ".").value_or(0);
    constexpr std::uint64_t kMinor = 5;
    return major > 0 || minor >= kMinor;
}

/// Calls `visit` with the text before and after the first colon of each line.
template <typename Visit>
Result<void> each_line(const CrashDump& dump, const Span& lines, const Visit& visit) {
    TextCursor text(dump.text(), lines.begin, lines.end);
    while (!text.at_end()) {
        const auto line = text.take_line(kLongestNodeLine);
        const auto colon = line.find(": ");
        if (colon != std::string::npos) {
            visit(std::string_view(line).substr(0, colon),
                  std::string_view(line).substr(colon + 2));
        }
    }
    return text.error() ? Result<void>(std::unexpected(*text.error())) : Result<void>();
}

}  // namespace

Result<ParsedNode> parse_node(const CrashDump& dump) {
    ParsedNode result;
    const auto& header = dump.header();
    read_version(header.system_version, result.node);
    result.scheme = scheme_for(result.node);
    result.base64 = has_base64(header.version);
    result.node.set_term_scheme(static_cast<std::uint32_t>(result.scheme));
    result.capture.set_mode(records::CAPTURE_MODE_CRASH_DUMP);
    result.capture.set_slogan(header.slogan);
    result.capture.set_crash_date(header.date);
    result.capture.set_crash_dump_version(header.version);
    const auto erts = erts_version(result.node.erts_version());
    result.capture.set_memory_of_heaps(erts.is_known() && erts < kTellsMemory);
    if (header.taints) {
        result.capture.set_taints(*header.taints);
    }
    if (!header.calling_thread.empty()) {
        result.capture.set_calling_thread(header.calling_thread);
    }
    if (!dump.cut_off().empty()) {
        result.capture.set_cut_off(dump.cut_off());
        result.capture.set_cut_off_section(std::string(dump.last_tag()));
    }
    if (header.atoms) {
        result.totals.set_atoms(*header.atoms);
    }
    if (const auto modules = dump.modules()) {
        result.totals.set_modules(*modules);
    }
    Result<void> done;
    if (dump.memory()) {
        done = each_line(dump, *dump.memory(), [&](std::string_view key, std::string_view value) {
            if (const auto bytes = number_after(value, "")) {
                auto& amount = *result.node.add_memory();
                amount.set_name(std::string(key));
                amount.set_bytes(*bytes);
            }
        });
    }
    if (done && dump.atom_table()) {
        done =
            each_line(dump, *dump.atom_table(), [&](std::string_view key, std::string_view value) {
                if (const auto limit = number_after(value, ""); limit && key == "limit") {
                    result.node.set_atom_limit(*limit);
                }
            });
    }
    if (done && dump.loaded_modules()) {
        std::uint64_t code = 0;
        done = each_line(dump, *dump.loaded_modules(),
                         [&code](std::string_view key, std::string_view value) {
                             if (key == "Current code" || key == "Old code") {
                                 code += number_after(value, "").value_or(0);
                             }
                         });
        result.totals.set_code_bytes(code);
        result.node.set_code_bytes(code);
    }
    return done ? Result<ParsedNode>(std::move(result)) : std::unexpected(done.error());
}

Result<void> parse_other_nodes(const CrashDump& dump, Names& names) {
    for (const auto& [channel, lines] : dump.nodes()) {
        const auto number = static_cast<std::uint32_t>(channel);
        auto done = each_line(dump, lines, [&](std::string_view key, std::string_view value) {
            if (key == "Name") {
                if (const auto name = parse_atom(value)) {
                    names.node_channel(number, *name);
                }
            }
        });
        if (!done) {
            return done;
        }
    }
    return {};
}

}  // namespace beamdump::crash
