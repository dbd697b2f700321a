#include "render/term.h"

#include "render/processes.h"
#include "render/shared/json.h"
#include "render/shared/table.h"
#include "render/shared/term_line.h"
#include "render/shared/units.h"

#include <libdump/base/return_if_error.h>
#include <libdump/term/term_layout.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

namespace beamdump::render {

namespace {

constexpr std::size_t kPartColumns = 24;

std::string term_words_text(std::uint64_t words) {
    return words == kSaturatedSize ? "over 2^64" : count_text(words);
}

/// "list of 20,000 items", "map of 2 keys", "binary".
std::string kind_and_count(const query::TermPartLine& line) {
    std::string kind(line.kind == "native_record" ? "native record" : line.kind);
    if (!line.count) {
        return kind;
    }
    const std::string_view part = line.kind == "list"            ? "item"
                                  : line.kind == "tuple"         ? "element"
                                  : line.kind == "map"           ? "key"
                                  : line.kind == "native_record" ? "field"
                                                                 : "variable";
    return fmt::format("{} of {}", kind, counted(*line.count, part));
}

/// Empty for a term that keeps none.
std::string kept_binaries_text(const query::TermPartLine& line) {
    return !line.binary_bytes ? "?" : *line.binary_bytes == 0 ? "" : bytes_text(*line.binary_bytes);
}

std::string size_text(const query::TermPartLine& line, std::uint64_t word_bytes) {
    std::string text = fmt::format("{} words ({})", term_words_text(line.sizes.shared),
                                   bytes_text(line.sizes.shared * word_bytes));
    if (line.sizes.flat != line.sizes.shared) {
        text += fmt::format(", {} without sharing", term_words_text(line.sizes.flat));
    }
    if (line.binary_bytes != 0) {
        text += fmt::format(", keeps {} of binaries", kept_binaries_text(line));
    }
    return text + (line.sizes.unreadable == 0 ? "" : ", not all of it is in the dump");
}

std::string step_with_field(const query::TermPartLine& line) {
    return line.field ? fmt::format("{} ({})", line.step, *line.field) : line.step;
}

Result<void> print_parts(Output& output, query::TermReading& reading) {
    bool titled = false;
    const auto left_out = [&](std::uint64_t omitted, std::uint64_t depth) {
        if (omitted != 0) {
            print_line(output, fmt::format("{:>13}  {:>9}  {:{}}{} more", "", "", "", 2 * depth,
                                           count_text(omitted)));
        }
    };
    const query::TermReading::Visitor visitor{
        .begin =
            [&](const query::TermPartLine& line) {
                if (!titled) {
                    titled = true;
                    output.print("\n{:>13}  {:>9}  {:<{}}  TERM\n", "WORDS", "BINARIES", "PART",
                                 kPartColumns);
                }
                const std::string step =
                    std::string(2 * (line.depth - 1), ' ') + one_line(step_with_field(line));
                const std::size_t width = text_width(step);
                print_line(output,
                           fmt::format("{:>13}  {:>9}  {}{:{}}  {}",
                                       term_words_text(line.sizes.shared), kept_binaries_text(line),
                                       step, "", width < kPartColumns ? kPartColumns - width : 0,
                                       term_line(line.text)));
            },
        .end = [&](const query::TermPartLine& line,
                   std::uint64_t omitted) { left_out(omitted, line.depth); }};
    ASSIGN_OR_RETURN(const auto omitted, reading.each_part(visitor));
    left_out(omitted, 0);
    return {};
}

/// The term's text in lines. Says whether it was cut.
bool print_text(Output& output, query::TermReading& reading, const TermFormat& format) {
    TermPrinter& printer = reading.start_text();
    const auto write = [&](auto& text) {
        query::TermText drained = query::drain_in_pieces(text, *format.term_bytes);
        output.write(drained.text);
        bool cut = drained.cut;
        if (drained.more) {
            cut = drained.more([&output](std::string_view piece) {
                output.write(piece);
                return output.ok();
            });
        }
        output.write(cut ? "...\n" : "\n");
        return cut;
    };
    if (format.width == 0) {
        return write(printer);
    }
    LaidOutText text(printer, format.width);
    return write(text);
}

void write_sizes(JsonWriter& json, const query::TermPartLine& line) {
    json.member("kind", line.kind);
    json.member("count", line.count);
    json.member("shared_words", line.sizes.shared);
    json.member("flat_words", line.sizes.flat);
    json.member("flat_saturated", line.sizes.flat == kSaturatedSize);
    json.member("whole", line.sizes.unreadable == 0);
    json.member("binary_bytes", line.binary_bytes);
}

/// Parts within parts: an array is begun with its first, and ended when the next is not within.
class PartsJson {
  public:
    explicit PartsJson(JsonWriter& json) : json_(json) {}

    void begin(const query::TermPartLine& line) {
        open_to(line.depth);
        json_.begin_object();
        json_.member("part", line.step);
        json_.member("field", line.field);
        write_sizes(json_, line);
        write_term(json_, "term", line.text);
    }
    void end(const query::TermPartLine& line, std::uint64_t omitted) {
        close_to(line.depth);
        if (omitted != 0) {
            json_.member("omitted", omitted);
        }
        json_.end_object();
    }
    void open_to(std::uint64_t depth) {
        for (; open_ < depth; ++open_) {
            json_.begin_array("parts");
        }
    }
    void close_to(std::uint64_t depth) {
        for (; open_ > depth; --open_) {
            json_.end_array();
        }
    }

  private:
    JsonWriter& json_;
    std::uint64_t open_ = 0;
};

}  // namespace

Result<bool> term_text(Output& output, query::TermReading& reading, const TermFormat& format) {
    if (reading.withheld() != Withheld::kNo) {
        return false;
    }
    if (reading.term() && format.term_bytes) {
        return print_text(output, reading, format);
    }
    if (const auto& term = reading.term()) {
        print_line(output, one_line(fmt::format("{}", fmt::join(reading.path(), " -> "))));
        print_line(output, fmt::format("{}, {}", kind_and_count(*term),
                                       size_text(*term, reading.dump_facts().word_bytes)));
        if (term->count.value_or(0) == 0) {
            TermFormat shown = format;
            shown.term_bytes = kShownTermBytes;
            return print_text(output, reading, shown);
        }
    } else {
        print_line(output, fmt::format("{}  {}", reading.line().pid, process_name(reading.line())));
    }
    RETURN_IF_ERROR(print_parts(output, reading));
    return false;
}

Result<bool> term_json(Output& output, query::TermReading& reading, const TermFormat& format) {
    JsonWriter json(output, "beamdump.term/1");
    write_dump(json, "dump", reading.dump_facts());
    write_process(json, reading.line(), reading.withheld());
    bool cut = false;
    if (reading.withheld() == Withheld::kNo) {
        json.begin_array("path");
        for (const auto& step : reading.path()) {
            json.value(step);
        }
        json.end_array();
        if (const auto& term = reading.term()) {
            write_sizes(json, *term);
            const auto text = query::drain_in_pieces(reading.start_text(),
                                                     format.term_bytes.value_or(kShownTermBytes));
            write_term(json, "term", text);
            cut = format.term_bytes.has_value() && text.cut;
        }
        PartsJson parts(json);
        const query::TermReading::Visitor visitor{
            .begin = [&](const query::TermPartLine& line) { parts.begin(line); },
            .end = [&](const query::TermPartLine& line,
                       std::uint64_t omitted) { parts.end(line, omitted); }};
        parts.open_to(1);
        ASSIGN_OR_RETURN(const auto omitted, reading.each_part(visitor));
        parts.close_to(0);
        if (omitted != 0) {
            json.member("omitted", omitted);
        }
    }
    json.finish();
    return cut;
}

}  // namespace beamdump::render
