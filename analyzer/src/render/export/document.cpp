#include "render/export/thing_writers.h"
#include "render/shared/json.h"

namespace beamdump::render {

namespace {

class Document final : public JsonDocument {
  public:
    Document(Output& output, const query::DumpFacts& facts)
        : output_(output), json_(output, "beamdump.export/1") {
        write_dump(json_, "dump", facts);
    }

    [[nodiscard]] bool one_kind_at_a_time() const override { return true; }

    Result<void> begin(const query::ThingKind& kind, std::optional<std::uint64_t> total) override {
        end_kind();
        kind_ = &kind;
        if (is_single(kind)) {
            return {};
        }
        json_.begin_object(kind.table);
        json_.member("total", total);
        json_.begin_array("items");
        return {};
    }

    Result<void> thing(const query::ThingKind& kind, const query::Row& row) override {
        if (is_single(kind)) {
            json_.begin_object(&kind == &query::dump_kind() ? "facts" : "export");
        } else {
            json_.begin_object();
        }
        for (std::size_t at = 0; at < row.size(); ++at) {
            std::visit(
                [&](const auto& value) {
                    if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
                        json_.member(kind.columns[at].name, value);
                    }
                },
                row[at]);
        }
        json_.end_object();
        return output_.ok() ? Result<void>() : std::unexpected(*output_.error());
    }

    void finish() override {
        end_kind();
        json_.finish();
    }

  private:
    /// There is one of it, which is an object of its own.
    static bool is_single(const query::ThingKind& kind) {
        return &kind == &query::dump_kind() || &kind == &query::end_kind();
    }

    void end_kind() {
        if (kind_ != nullptr && !is_single(*kind_)) {
            json_.end_array();
            json_.end_object();
        }
        kind_ = nullptr;
    }

    Output& output_;
    JsonWriter json_;
    const query::ThingKind* kind_ = nullptr;  ///< begun and not ended
};

}  // namespace

std::unique_ptr<JsonDocument> json_document(Output& output, const query::DumpFacts& facts) {
    return std::make_unique<Document>(output, facts);
}

}  // namespace beamdump::render
