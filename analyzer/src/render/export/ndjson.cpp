#include "render/export/thing_writers.h"

#include <libdump/text/compact_json.h>

#include <span>
#include <type_traits>
#include <variant>

namespace beamdump::render {

namespace {

class NdjsonWriter final : public query::ThingVisitor {
  public:
    NdjsonWriter(Output& output, const query::DumpFacts& facts)
        : output_(output), json_(output), facts_(facts) {}

    Result<void> begin(const query::ThingKind& /*kind*/,
                       std::optional<std::uint64_t> /*total*/) override {
        return {};
    }

    Result<void> thing(const query::ThingKind& kind, const query::Row& row) override {
        json_.begin_object();
        json_.member("kind", kind.name);
        if (&kind == &query::dump_kind()) {
            json_.member("schema", std::string_view("beamdump.export-line/1"));
        }
        if (facts_.node_name) {
            json_.member("node", std::string_view(*facts_.node_name));
        }
        if (facts_.captured_us && *facts_.captured_us >= 0) {
            json_.member("captured_us", static_cast<std::uint64_t>(*facts_.captured_us));
        }
        if (&kind == &query::dump_kind()) {
            write_file_facts();
        }
        members(kind.columns, row);
        json_.end_object();
        json_.end_line();
        return output_.ok() ? Result<void>() : std::unexpected(*output_.error());
    }

  private:
    /// What is read of an export to compare it.
    void write_file_facts() {
        if (facts_.redaction) {
            json_.member("redaction", std::string_view(*facts_.redaction));
        }
        if (facts_.text_complete) {
            json_.member("text_complete", *facts_.text_complete);
        }
        if (facts_.memory_of_heaps) {
            json_.member("memory_of_heaps", true);
        }
    }

    /// None for an absent cell.
    void members(std::span<const query::Column> columns, const query::Row& row) {
        for (std::size_t at = 0; at < row.size() && at < columns.size(); ++at) {
            std::visit(
                [&](const auto& known) {
                    using Value = std::decay_t<decltype(known)>;
                    if constexpr (std::is_same_v<Value, std::string>) {
                        json_.member(columns[at].name, std::string_view(known));
                    } else if constexpr (!std::is_same_v<Value, std::monostate>) {
                        json_.member(columns[at].name, known);
                    }
                },
                row[at]);
        }
    }

    Output& output_;
    CompactJson json_;
    query::DumpFacts facts_;
};

}  // namespace

std::unique_ptr<query::ThingVisitor> ndjson_writer(Output& output, const query::DumpFacts& facts) {
    return std::make_unique<NdjsonWriter>(output, facts);
}

}  // namespace beamdump::render
