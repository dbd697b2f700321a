#include "query/term/term_path.h"

#include "query/term/term_text.h"

#include <fmt/format.h>

#include <optional>

namespace beamdump::query {

namespace {

constexpr std::size_t kKeyBytes = 60;

using Kind = WalkLevel::Kind;

class Steps {
  public:
    Steps(const TagScheme& scheme, WordReader& reader, TermPrinter& printer)
        : scheme_(scheme), reader_(reader), printer_(printer) {}

    /// nullopt for the internal nodes of a large map.
    std::optional<std::string> text(const PathStep& step) {
        switch (step.kind) {
            case Kind::kTuple:
                return fmt::format("element {}", step.index + 1);
            case Kind::kList:
                return step.index == WalkLevel::kTail ? "tail"
                                                      : fmt::format("item {}", step.index + 1);
            case Kind::kFlatMap:
                return step.index == 0 ? "keys" : flat_map_key(step);
            case Kind::kHashMap:
                return std::nullopt;
            case Kind::kPair:
                return step.index == 0 ? "key" : key_text("key", step.address);
            case Kind::kFun:
                return environment(step.index);
            case Kind::kRecord:
                return step.index == 0 ? "definition" : record_field(step);
            case Kind::kKept:
                return "part of";
        }
        return std::nullopt;
    }

  private:
    std::string flat_map_key(const PathStep& step) {
        std::uint64_t keys = 0;
        if (reader_.read(step.address + otp25::kFlatMapKeys * kWordBytes, keys) !=
            WordStatus::kHere) {
            return fmt::format("value {}", step.index);
        }
        return key_text("key", pointer_of(keys) + step.index * kWordBytes);
    }

    std::string record_field(const PathStep& step) {
        std::uint64_t definition = 0;
        if (reader_.read(step.address + otp29::kRecordDefinition * kWordBytes, definition) !=
            WordStatus::kHere) {
            return fmt::format("field {}", step.index);
        }
        const std::uint64_t key = otp29::kDefinitionKeys + step.index - 1;
        return key_text("field", pointer_of(definition) + key * kWordBytes);
    }

    [[nodiscard]] std::string environment(std::uint64_t index) const {
        // The creator is a term like those of the environment, and is before it.
        const bool creator = !scheme_.fun_in_header;
        return creator && index == 0 ? "creator"
                                     : fmt::format("environment {}", index + (creator ? 0 : 1));
    }

    std::string key_text(std::string_view what, std::uint64_t address) {
        std::uint64_t key = 0;
        if (reader_.read(address, key) != WordStatus::kHere) {
            return fmt::format("{} ?", what);
        }
        const TermText text = term_text(printer_, key, kKeyBytes);
        return fmt::format("{} {}{}", what, text.text, text.cut ? "..." : "");
    }

    const TagScheme& scheme_;
    WordReader& reader_;
    TermPrinter& printer_;
};

}  // namespace

std::vector<std::string> path_texts(const std::vector<PathStep>& path, const TagScheme& scheme,
                                    WordReader& reader, TermPrinter& printer) {
    Steps steps(scheme, reader, printer);
    std::vector<std::string> texts;
    for (const PathStep& step : path) {
        if (auto text = steps.text(step)) {
            texts.push_back(std::move(*text));
        }
    }
    return texts;
}

}  // namespace beamdump::query
