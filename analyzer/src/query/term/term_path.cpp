#include "query/term/term_path.h"

#include "query/term/term_text.h"

#include <fmt/format.h>

#include <optional>

namespace beamdump::query {

namespace {

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
                return step.index == 0 ? "keys" : key_text("key", step);
            case Kind::kHashMap:
                return std::nullopt;
            case Kind::kPair:
                return key_text(step.index == 0 ? "as key" : "key", step);
            case Kind::kFun:
                return environment(step);
            case Kind::kRecord:
                return step.index == 0 ? "definition" : key_text("field", step);
            case Kind::kKept:
                return "part of";
        }
        return std::nullopt;
    }

  private:
    [[nodiscard]] std::string environment(const PathStep& step) const {
        // The creator is a term like those of the environment, and is before it.
        const bool creator = scheme_.fun_creator != 0;
        if (creator && step.index == 0) {
            return "creator";
        }
        return is_fun_reference(step)
                   ? "reference"
                   : fmt::format("environment {}", step.index + (creator ? 0 : 1));
    }

    /// In OTP 27 the last word of an environment is the runtime's own reference to the function
    /// (erl_fun.h, FunRef); the header has how many there are.
    [[nodiscard]] bool is_fun_reference(const PathStep& step) const {
        std::uint64_t header = 0;
        return scheme_.fun_in_header && !scheme_.fun_kind_in_header &&
               reader_.read(step.address, header) == WordStatus::kHere &&
               header >> 16U == step.index + 1;
    }

    std::string key_text(std::string_view what, const PathStep& step) {
        const auto key = key_of(step, reader_);
        if (!key && step.kind != Kind::kPair) {
            return fmt::format("{} {}", step.kind == Kind::kRecord ? "field" : "value", step.index);
        }
        if (!key) {
            return fmt::format("{} ?", what);
        }
        const TermText text = term_text(printer_, *key, kStepKeyBytes);
        return fmt::format("{} {}{}", what, text.text, text.cut ? "..." : "");
    }

    const TagScheme& scheme_;
    WordReader& reader_;
    TermPrinter& printer_;
};

}  // namespace

std::optional<std::uint64_t> key_of(const PathStep& step, WordReader& reader) {
    std::uint64_t word = 0;
    std::uint64_t at = step.address;
    if (step.kind == Kind::kFlatMap && step.index != 0) {
        if (reader.read(step.address + otp25::kFlatMapKeys * kWordBytes, word) !=
            WordStatus::kHere) {
            return std::nullopt;
        }
        at = pointer_of(word) + step.index * kWordBytes;
    } else if (step.kind == Kind::kRecord && step.index != 0) {
        if (reader.read(step.address + otp29::kRecordDefinition * kWordBytes, word) !=
            WordStatus::kHere) {
            return std::nullopt;
        }
        at = pointer_of(word) + (otp29::kDefinitionKeys + step.index - 1) * kWordBytes;
    } else if (step.kind != Kind::kPair) {
        return std::nullopt;
    }
    return reader.read(at, word) == WordStatus::kHere ? std::optional(word) : std::nullopt;
}

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
