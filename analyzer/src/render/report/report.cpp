#include "render/report/report.h"

#include "render/report/report_page.h"

#include <libdump/base/amount_text.h>
#include <libdump/base/base64.h>
#include <libdump/text/compact_json.h>

#include <boost/iostreams/categories.hpp>
#include <boost/iostreams/filter/zlib.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <fmt/format.h>

#include <array>
#include <exception>
#include <span>

namespace beamdump::render {

Result<void> ScriptOutput::put(std::string_view text) {
    while (!text.empty()) {
        const std::size_t plain = std::min(text.find_first_of("<>&"), text.size());
        page_.write(text.substr(0, plain));
        text.remove_prefix(plain);
        if (!text.empty()) {
            page_.write(text.front() == '<'   ? "\\u003C"
                        : text.front() == '>' ? "\\u003E"
                                              : "\\u0026");
            text.remove_prefix(1);
        }
    }
    return page_.ok() ? Result<void>() : std::unexpected(*page_.error());
}

class PackedOutput::Stream {
  public:
    explicit Stream(Output& page) : text_{page}, base64_(text_) {
        stream_.push(boost::iostreams::zlib_compressor());
        stream_.push(Device{&base64_});
    }

    Result<void> write(std::string_view text) {
        try {
            stream_.write(text.data(), static_cast<std::streamsize>(text.size()));
        } catch (const std::exception& error) {
            return fail(ErrorCode::kIo, fmt::format("compressing the page: {}", error.what()));
        }
        return text_.page.ok() ? Result<void>() : std::unexpected(*text_.page.error());
    }

    void finish() {
        stream_.reset();
        base64_.finish();
    }

  private:
    struct PageText {
        Output& page;
        void put(char character) { page.write(character); }
    };
    /// Where the compressed bytes go.
    struct Device {
        using char_type = char;
        using category = boost::iostreams::sink_tag;

        Base64<PageText>* base64;  // non-owning: a device is copied

        std::streamsize write(const char* bytes, std::streamsize count) const {
            base64->add(
                {reinterpret_cast<const std::uint8_t*>(bytes), static_cast<std::size_t>(count)});
            return count;
        }
    };

    PageText text_;
    Base64<PageText> base64_;
    boost::iostreams::filtering_ostream stream_;
};

PackedOutput::PackedOutput(Output& page) : stream_(std::make_unique<Stream>(page)) {}

PackedOutput::~PackedOutput() = default;

Result<void> PackedOutput::put(std::string_view text) {
    return stream_->write(text);
}

void PackedOutput::finish() {
    flush();
    stream_->finish();
}

namespace {

constexpr std::size_t kBlockRows = 4096;

constexpr std::array<std::string_view, ReportWriter::kColumns> kColumnNames = {
    "number",   "serial", "parent", "parent_serial", "name",  "shown", "call",
    "function", "status", "memory", "reductions",    "queue", "stack"};

/// Owner ids are serial << 32 | number.
constexpr unsigned kSerialShift = 32;
constexpr std::uint64_t kNumberMask = 0xFFFFFFFF;

void begin_script(Output& page, std::string_view id, std::string_view type) {
    page.print("<script id=\"{}\" type=\"{}\">", id, type);
}

void end_script(Output& page) {
    page.write("</script>\n");
}

/// JSON has null for what is not known.
void write_numbers(Output& out, std::string_view name,
                   const std::vector<std::optional<std::uint64_t>>& numbers) {
    out.print("\"{}\":", name);
    std::string_view separator = "[";
    for (const auto& number : numbers) {
        out.write(separator);
        if (number) {
            out.print("{}", *number);
        } else {
            out.write("null");
        }
        separator = ",";
    }
    out.write(numbers.empty() ? "[]" : "]");
}

}  // namespace

std::uint64_t TextTable::number(const std::string& text) {
    const auto [known, is_new] = numbers_.emplace(text, numbers_.size());
    if (is_new) {
        texts_.push_back(&known->first);
        constexpr std::uint64_t kEach = 80;
        memory_ += kEach + known->first.size();
    }
    return known->second;
}

ReportWriter::ReportWriter(Output& page, std::uint64_t memory)
    : page_(page), most_memory_(memory), script_(page), packed_(page), block_(kColumns) {
    page_.write(report_page_head());
    begin_script(page_, "answers", "application/json");
}

void ReportWriter::answer(std::string_view name, const std::function<void(Output&)>& write) {
    script_.write(separator_);
    script_.print("\"{}\":", name);
    write(script_);
    separator_ = ",";
}

void ReportWriter::end_answers() {
    script_.write(separator_ == "{" ? "{}" : "}");
    script_.flush();
    end_script(page_);
    begin_script(page_, "processes-data", "application/zlib");
}

ReportWriter::Number ReportWriter::number(const std::optional<std::string>& text) {
    return text ? Number(texts_.number(*text)) : std::nullopt;
}

Result<void> ReportWriter::process(const query::ReportProcess& process) {
    const query::ProcessLine& line = process.line;
    const auto half = [](const Number& owner, unsigned shift) {
        return owner ? Number((*owner >> shift) & kNumberMask) : std::nullopt;
    };
    const auto& call =
        line.translated_initial_call ? line.translated_initial_call : line.initial_call;
    const std::array<Number, kColumns> row = {half(process.owner_id, 0),
                                              half(process.owner_id, kSerialShift),
                                              half(process.parent, 0),
                                              half(process.parent, kSerialShift),
                                              number(line.registered_name),
                                              number(query::shown_name(line)),
                                              number(call),
                                              number(line.current_function),
                                              number(line.status),
                                              line.memory_bytes,
                                              line.reductions,
                                              line.message_queue_length,
                                              process.stack};
    for (std::size_t at = 0; at < kColumns; ++at) {
        block_[at].push_back(row.at(at));
    }
    if (block_.front().size() == kBlockRows) {
        write_block();
    }
    if (texts_.memory() > most_memory_) {
        return fail(ErrorCode::kLimit,
                    fmt::format("the different names of processes need more memory than {}; "
                                "--max-memory allows more",
                                bytes_text(most_memory_)));
    }
    return page_.ok() ? Result<void>() : std::unexpected(*page_.error());
}

void ReportWriter::write_block() {
    packed_.write(block_separator_);
    block_separator_ = ",";
    std::string_view separator = "{";
    for (std::size_t at = 0; at < kColumns; ++at) {
        packed_.write(separator);
        write_numbers(packed_, kColumnNames.at(at), block_[at]);
        block_[at].clear();
        separator = ",";
    }
    packed_.write("}");
}

void ReportWriter::finish(const query::ReportProcesses& processes) {
    write_block();
    packed_.write("]");
    packed_.finish();
    end_script(page_);
    begin_script(page_, "names", "application/json");
    script_.write("{");
    write_mailboxes(script_, processes);
    script_.write(",");
    write_stacks(script_, processes.stacks.stacks());
    script_.write(",");
    write_texts(script_);
    script_.write("}");
    script_.flush();
    end_script(page_);
    page_.write(report_page_tail());
}

void ReportWriter::write_mailboxes(Output& out, const query::ReportProcesses& processes) {
    out.print("\"with_messages\":{},\"mailboxes\":", processes.with_messages);
    CompactJson json(out);
    json.begin_array();
    for (const query::Mailbox& mailbox : processes.mailboxes) {
        json.begin_object();
        json.member("number", mailbox.owner_id & kNumberMask);
        json.member("serial", mailbox.owner_id >> kSerialShift);
        if (mailbox.shapes) {
            json.member("messages", mailbox.shapes->messages);
            json.member("signals", mailbox.shapes->other_signals);
            json.member("other", mailbox.shapes->other);
            json.key("shapes");
            json.begin_array();
            for (const query::ShapeCount& shape : mailbox.shapes->shapes) {
                json.begin_object();
                json.member("shape", texts_.number(shape.shape));
                json.member("count", shape.count);
                json.end_object();
            }
            json.end_array();
        }
        json.end_object();
    }
    json.end_array();
    json.end_line();
}

void ReportWriter::write_stacks(Output& out, const StackTree& stacks) {
    std::vector<Number> functions;
    std::vector<Number> files;
    std::vector<Number> lines;
    for (const StackPlace& place : stacks.places()) {
        functions.emplace_back(texts_.number(place.function));
        files.push_back(number(place.file));
        lines.push_back(place.line ? Number(*place.line) : std::nullopt);
    }
    std::vector<Number> parents;
    std::vector<Number> places;
    for (const StackTree::Node& node : stacks.nodes()) {
        parents.emplace_back(node.parent);
        places.emplace_back(node.place);
    }
    const std::array<std::pair<std::string_view, const std::vector<Number>&>, 5> columns = {
        {{"place_function", functions},
         {"place_file", files},
         {"place_line", lines},
         {"stack_parent", parents},
         {"stack_place", places}}};
    std::string_view separator;
    for (const auto& [name, numbers] : columns) {
        out.write(separator);
        write_numbers(out, name, numbers);
        separator = ",";
    }
}

void ReportWriter::write_texts(Output& out) {
    out.write("\"texts\":");
    CompactJson json(out);
    json.begin_array();
    for (const std::string* text : texts_.texts()) {
        json.value(std::string_view(*text));
    }
    json.end_array();
    json.end_line();
}

}  // namespace beamdump::render
