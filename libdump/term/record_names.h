#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beamdump {

/// The names of the fields of records, by their tag and number of elements: what a tuple on a heap
/// has. Definitions that differ for one tag and size are ambiguous, and name no fields.
class RecordNames {
  public:
    /// Adds a definition that `module` has.
    void add(std::string_view module, std::string tag, std::vector<std::string> fields);

    /// The fields, as Erlang prints them, of a tuple of `arity` elements, its tag included; null
    /// where none is known.
    [[nodiscard]] const std::vector<std::string>* find(std::string_view tag,
                                                       std::uint64_t arity) const;

    /// Definitions that differ, with two of the modules that have them.
    struct Ambiguous {
        std::string tag;
        std::size_t arity = 0;
        std::string one;
        std::string other;
    };
    [[nodiscard]] std::vector<Ambiguous> ambiguous() const;
    [[nodiscard]] std::size_t size() const { return records_.size(); }

  private:
    struct Definition {
        std::string module;
        std::vector<std::string> fields;
        std::optional<std::string> differs_in;  ///< another module
    };
    std::map<std::pair<std::string, std::size_t>, Definition, std::less<>> records_;
};

}  // namespace beamdump
