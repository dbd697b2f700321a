#include "render/holders.h"

#include "render/processes.h"
#include "render/shared/layout.h"
#include "render/shared/process_counts.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <libdump/base/utf8.h>
#include <libdump/term/elixir_text.h>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace beamdump::render {

std::string place_text(const query::TermPlace& place) {
    std::string text = place.root;
    for (const std::string& step : place.path) {
        text += " -> " + step;
    }
    return text;
}

std::string owner_text(const query::TermOwner& owner) {
    return owner.process.pid.empty()
               ? "-"
               : fmt::format("{} {}", owner.process.pid, process_name(owner.process));
}

void write_owner(JsonWriter& json, const query::TermOwner& owner) {
    if (!owner.process.pid.empty()) {
        json.begin_object("process");
        write_process_members(json, owner.process);
        json.end_object();
    }
    json.member("table", owner.table);
    json.member("module", owner.module);
    if (owner.persistent_terms) {
        json.member("persistent_terms", true);
    }
}

void write_searched(JsonWriter& json, const query::NodeSweepCounts& node) {
    json.member("searched_tables", node.tables);
    if (!node.processes_only) {
        json.member("tables_without_rows", node.tables_without);
    }
    json.member("compressed_rows", node.compressed_rows);
    json.member("searched_modules", node.modules);
    json.member("searched_persistent_terms", node.persistent_terms);
    if (!node.processes_only) {
        json.member("persistent_terms_without", node.persistent_terms_without);
    }
    if (const auto sentences = query::not_searched(node); !sentences.empty()) {
        json.begin_array("not_searched");
        for (const auto& sentence : sentences) {
            json.value(sentence);
        }
        json.end_array();
    }
}

void write_place(JsonWriter& json, const query::TermPlace& place) {
    json.member("root", place.root);
    json.begin_array("path");
    for (const std::string& step : place.path) {
        json.value(step);
    }
    json.end_array();
}

std::optional<std::string> content_text(const query::BinaryBeginning& binary) {
    std::string_view rest = binary.first;
    if (rest.size() == binary.bytes && rest.ends_with('\0')) {
        rest.remove_suffix(1);
    }
    std::string text;
    while (!rest.empty()) {
        const auto length = utf8_length(rest);
        if (length == 0) {
            break;
        }
        const auto character = rest.substr(0, length);
        const char32_t code = utf8_character(character);
        if (!is_elixir_printable(code) && code != U'\n' && code != U'\r' && code != U'\t') {
            return std::nullopt;
        }
        text += character;
        rest.remove_prefix(length);
    }
    const bool whole =
        rest.empty() || (binary.first.size() != binary.bytes && may_become_utf8(rest));
    return whole && !text.empty() ? std::optional(std::move(text)) : std::nullopt;
}

namespace {

std::string hexadecimal_bytes(std::string_view bytes, std::string_view between) {
    std::string text;
    for (const char byte : bytes) {
        text +=
            fmt::format("{}{:02x}", text.empty() ? "" : between, static_cast<unsigned char>(byte));
    }
    return text;
}

/// Text in quotes, or lines of hexadecimal digits with their offsets from `first` on.
void print_content(Output& output, const query::BinaryBeginning& content, std::uint64_t first) {
    if (const auto text = content_text(content)) {
        print_line(output, fmt::format("    \"{}\"", one_line(*text)));
        return;
    }
    constexpr std::size_t kBytesOfLine = 16;
    for (std::size_t at = 0; at < content.first.size(); at += kBytesOfLine) {
        const auto bytes = std::string_view(content.first).substr(at, kBytesOfLine);
        std::string shown;
        for (const char byte : bytes) {
            shown += byte >= ' ' && byte <= '~' ? byte : '.';
        }
        print_line(output, fmt::format("    {:04x}  {:<47}  {}", first + at,
                                       hexadecimal_bytes(bytes, " "), shown));
    }
}

/// What a place shows, as content that may go on behind it.
query::BinaryBeginning content_of(const query::BinarySlice& slice, const std::string& bytes) {
    query::BinaryBeginning content;
    content.bytes = slice.bytes;
    content.first = bytes;
    return content;
}

void write_content(JsonWriter& json, const query::BinaryBeginning& content) {
    if (const auto text = content_text(content)) {
        json.member("content_text", *text);
    } else if (!content.first.empty()) {
        json.member("content_hex", hexadecimal_bytes(content.first, ""));
    }
}

/// "  64.0 KiB, the first 64 bytes:", and these.
void print_beginning(Output& output, const query::BinaryBeginning& binary) {
    const std::string size = binary.bytes ? bytes_text(*binary.bytes) : "size unknown";
    if (binary.first.empty()) {
        output.print("  {}{}\n", size, binary.bytes == 0 ? "" : "; the dump has no bytes of it");
        return;
    }
    output.print("  {}{}:\n", size,
                 binary.first.size() == binary.bytes
                     ? std::string()
                     : fmt::format(", the first {}{}", counted(binary.first.size(), "byte"),
                                   binary.captured == binary.first.size()
                                       ? "; more is not in the dump, but for parts that terms show"
                                       : ""));
    print_content(output, binary, 0);
}

}  // namespace

void holders_text_begin(Output& output, const query::DumpFacts& facts,
                        const query::RefTarget& target,
                        const std::optional<query::BinaryBeginning>& binary) {
    print_layout_notice(output, facts.layout);
    const bool resource = binary && binary->resource;
    output.print(
        "Holders of {} {}{}{}\n", resource ? "NIF resource" : query::target_kind_text(target.kind),
        one_line(target.text), resource ? fmt::format(" ({})", one_line(*binary->resource)) : "",
        target.inside ? fmt::format(", in which {:#x} lies", *target.inside) : "");
    if (binary) {
        print_beginning(output, *binary);
    }
}

void holder_text(Output& output, const query::NodeNames& names, const query::HolderLine& line,
                 const std::string& content) {
    std::string text = fmt::format("  {}  {}", owner_text(line.owner),
                                   one_line(names.shown(place_text(line.place))));
    if (line.slice) {
        text += fmt::format("  bytes {} to {}", count_text(line.slice->first),
                            count_text(line.slice->first + line.slice->bytes));
    }
    print_line(output, text);
    if (line.slice && !content.empty()) {
        print_content(output, content_of(*line.slice, content), line.slice->first);
    }
}

void holders_text_end(Output& output, const query::RefsAnswer& answer, std::uint64_t shown,
                      const std::optional<std::uint64_t>& references) {
    if (shown < answer.found) {
        output.print("  {}; --limit 0 shows all\n", counted(answer.found - shown, "more place"));
    }
    output.print("{} in {}", counted(answer.found, "place"), owners_text(answer));
    if (answer.garbage != 0) {
        output.print("; {} of garbage, which a collection removes",
                     counted(answer.garbage, "reference"));
    }
    if (references) {
        output.print("; the VM counts {}", counted(*references, "reference"));
    }
    output.write("\n");
}

void holders_json_begin(JsonWriter& json, const query::DumpFacts& facts,
                        const query::RefTarget& target,
                        const std::optional<query::BinaryBeginning>& binary) {
    write_dump(json, "dump", facts);
    json.begin_object("target");
    json.member("kind", query::target_kind_text(target.kind));
    json.member("text", target.text);
    if (target.inside) {
        json.hex_member("inside", *target.inside);
    }
    if (binary) {
        json.member("resource", binary->resource);
        json.member("size_bytes", binary->bytes);
        json.member("captured_bytes", binary->captured);
        write_content(json, *binary);
    }
    json.end_object();
    json.begin_array("holders");
}

void holder_json(JsonWriter& json, const query::HolderLine& line, const std::string& content) {
    json.begin_object();
    write_owner(json, line.owner);
    write_place(json, line.place);
    if (line.slice) {
        json.member("first_byte", line.slice->first);
        json.member("bytes", line.slice->bytes);
        write_content(json, content_of(*line.slice, content));
    }
    json.end_object();
}

void holders_json_end(JsonWriter& json, const query::RefsAnswer& answer,
                      const std::optional<std::uint64_t>& references) {
    json.end_array();
    json.member("found", answer.found);
    write_owner_counts(json, answer);
    json.member("garbage", answer.garbage);
    json.member("references", references);
    json.member("undecoded_messages", answer.undecoded_messages);
    json.member("unreadable", answer.unreadable);
    write_processes_read(json, answer.read);
    json.finish();
}

}  // namespace beamdump::render
