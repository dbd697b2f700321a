#include "render/backtrace.h"

#include "render/shared/json.h"
#include "render/shared/layout.h"
#include "render/shared/table.h"

#include <libdump/base/utf8.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace beamdump::render {

namespace {

/// Counts text against a limit.
class Allowance {
  public:
    explicit Allowance(const BacktraceFormat& format)
        : chunk_(format.chunk_bytes), left_(format.max_bytes) {}

    /// Bytes to request next; 0 when the limit is reached.
    [[nodiscard]] std::size_t next() const {
        return static_cast<std::size_t>(std::min<std::uint64_t>(chunk_, left_));
    }
    void use(std::size_t bytes) { left_ -= bytes; }

  private:
    std::size_t chunk_;
    std::uint64_t left_;
};

/// Text in pieces as UTF-8: a list that prints as a string has its characters as bytes of Latin-1.
class Utf8Output {
  public:
    /// `exact`: the bytes as they are.
    explicit Utf8Output(Output& output, bool exact = false) : output_(output), exact_(exact) {}

    void write(std::string_view piece) {
        if (exact_) {
            output_.write(piece);
            return;
        }
        pieces_.add(piece, text_);
        put();
    }
    void end() {
        pieces_.end(text_);
        put();
    }

  private:
    void put() {
        output_.write(text_);
        text_.clear();
    }

    Output& output_;
    bool exact_;
    Utf8Pieces pieces_;
    std::string text_;
};

/// Writes what comes before a term within the allowance; returns whether it was cut.
bool put(Output& output, Allowance& allowance, std::string_view text) {
    while (!text.empty()) {
        const std::size_t step = std::min(allowance.next(), text.size());
        if (step == 0) {
            return true;
        }
        output.write(text.substr(0, step));
        allowance.use(step);
        text.remove_prefix(step);
    }
    return false;
}

std::string frame_text(const query::FrameLine& frame) {
    std::string text = fmt::format("#{:<3} ", frame.index);
    text += frame.function ? one_line(*frame.function) : fmt::format("{:#x}", frame.code_address);
    if (frame.offset) {
        text += fmt::format(" + {}", *frame.offset);
    }
    if (frame.file && frame.line) {
        text += fmt::format("  ({})", one_line(fmt::format("{}:{}", *frame.file, *frame.line)));
    }
    return text + (frame.continued ? "  (continued)\n" : "\n");
}

/// Writes the line of an x or y register; returns whether it was cut.
bool put_register(Output& output, query::Backtrace& backtrace, Allowance& allowance, char kind,
                  const query::RegisterLine& shown) {
    if (put(output, allowance, fmt::format("     {}({}) = ", kind, shown.index))) {
        return true;
    }
    if (shown.is_catch) {
        return put(output, allowance,
                   fmt::format("catch {}\n",
                               one_line(shown.catch_function.value_or("(not in the dump)"))));
    }
    backtrace.start_term(shown);
    Utf8Output text(output);
    std::string chunk;
    while (output.ok() && backtrace.next_term(allowance.next(), chunk) > 0) {
        allowance.use(chunk.size());
        text.write(chunk);
        chunk.clear();
    }
    text.end();
    return put(output, allowance, "\n");
}

void write_frame_members(JsonWriter& json, const query::FrameLine& frame) {
    json.member("index", frame.index);
    json.hex_member("code_address", frame.code_address);
    if (frame.stack_address) {
        json.hex_member("stack_address", *frame.stack_address);
    }
    json.member("function", frame.function);
    json.member("offset", frame.offset);
    json.member("file", frame.file);
    json.member("line", frame.line);
    json.member("continued", frame.continued);
    json.member("cut_short", frame.cut_short);
}

/// Writes one register's object; returns whether its term was cut.
bool write_register(JsonWriter& json, Output& output, query::Backtrace& backtrace,
                    Allowance& allowance, const query::RegisterLine& shown) {
    bool cut = false;
    json.begin_object();
    json.member("index", shown.index);
    if (shown.is_catch) {
        json.member("catch", shown.catch_function.value_or(""));
    } else {
        json.begin_text("term");
        backtrace.start_term(shown);
        std::string chunk;
        while (output.ok() && backtrace.next_term(allowance.next(), chunk) > 0) {
            allowance.use(chunk.size());
            json.text_piece(chunk);
            chunk.clear();
        }
        json.end_text();
        cut = allowance.next() == 0;
    }
    json.end_object();
    return cut;
}

}  // namespace

bool backtrace_text(Output& output, query::Backtrace& backtrace, const BacktraceFormat& format) {
    print_layout_notice(output, backtrace.dump_facts().layout);
    Allowance allowance(format);
    Utf8Output text(output, format.exact);
    std::string chunk;
    while (output.ok() && allowance.next() > 0) {
        const std::size_t got = backtrace.next_text(allowance.next(), chunk);
        if (got == 0) {
            text.end();
            return false;
        }
        allowance.use(got);
        text.write(chunk);
        output.flush();
        chunk.clear();
    }
    text.end();
    // Requests one more byte to find out whether text is left.
    return output.ok() && backtrace.next_text(1, chunk) > 0;
}

bool backtrace_lines(Output& output, query::Backtrace& backtrace, const BacktraceFormat& format) {
    print_layout_notice(output, backtrace.dump_facts().layout);
    Allowance allowance(format);
    auto arguments = backtrace.arguments().value_or(std::vector<query::RegisterLine>());
    while (output.ok()) {
        const auto frame = backtrace.next_frame();
        if (!frame) {
            return false;
        }
        if (put(output, allowance, frame_text(*frame))) {
            return true;
        }
        for (const query::RegisterLine& shown : arguments) {
            if (put_register(output, backtrace, allowance, 'x', shown)) {
                return true;
            }
        }
        arguments.clear();
        for (const query::RegisterLine& shown : frame->registers) {
            if (put_register(output, backtrace, allowance, 'y', shown)) {
                return true;
            }
        }
        if (frame->cut_short) {
            put(output, allowance, "     the rest of the stack is not in the dump\n");
        }
    }
    return false;
}

bool backtrace_json(Output& output, query::Backtrace& backtrace, const BacktraceFormat& format) {
    Allowance allowance(format);
    bool cut = false;
    JsonWriter json(output, "beamdump.backtrace/1");
    write_dump(json, "dump", backtrace.dump_facts());
    write_process(json, backtrace.line(), backtrace.withheld());
    if (const auto& arguments = backtrace.arguments()) {
        json.begin_array("arguments");
        for (const query::RegisterLine& shown : *arguments) {
            cut = cut || write_register(json, output, backtrace, allowance, shown);
        }
        json.end_array();
    }
    json.begin_array("frames");
    while (output.ok() && !cut) {
        const auto frame = backtrace.next_frame();
        if (!frame) {
            break;
        }
        json.begin_object();
        write_frame_members(json, *frame);
        json.begin_array("registers");
        for (const query::RegisterLine& shown : frame->registers) {
            cut = cut || write_register(json, output, backtrace, allowance, shown);
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
    const query::Gaps gaps = backtrace.gaps();
    json.begin_object("placeholders");
    json.member("malformed", gaps.malformed);
    json.member("absent", gaps.absent);
    json.member("partial_binaries", gaps.partial_binaries);
    json.end_object();
    json.member("cut", cut);
    json.finish();
    return cut;
}

}  // namespace beamdump::render
