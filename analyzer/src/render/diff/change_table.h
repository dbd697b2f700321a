#pragma once

#include "query/diff/diff.h"
#include "render/shared/layout.h"
#include "render/shared/output.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::render {

/// Marks of the values of several dumps.
class DumpMarks {
  public:
    explicit DumpMarks(const query::DumpsDiff& diff);

    [[nodiscard]] const Marks& of(std::size_t dump) const { return marks_[dump]; }
    /// A value computed from all dumps.
    [[nodiscard]] std::string all(std::string_view value, const std::string& text) const;

  private:
    std::vector<Marks> marks_;
};

/// A measure of a section's things as text.
class MeasureText {
  public:
    /// Non-owning.
    MeasureText(const DumpMarks& marks, const query::SectionKind& kind, query::Measure measure);

    /// The first or the last known value; "?" where none is.
    [[nodiscard]] std::string first(const query::Series& series) const;
    [[nodiscard]] std::string last(const query::Series& series) const;
    [[nodiscard]] std::string change(const std::optional<std::int64_t>& change) const;

  private:
    [[nodiscard]] std::string value(std::size_t dump, std::uint64_t known) const;

    const DumpMarks& marks_;
    query::Measure measure_;
    std::string name_;  ///< of the value (query/node/layout_sources.h)
};

/// In how many steps of all it grew: "2 of 3".
std::string rises_text(const query::Series& series);

/// Things that changed, and their parts.
void print_changes(Output& output, const std::vector<query::ThingChange>& changes,
                   const query::SectionKind& kind, const DumpMarks& marks);

/// Things of all sections, by their share of what the node has.
void print_growth(Output& output, const std::vector<query::ThingChange>& growth,
                  const DumpMarks& marks);

}  // namespace beamdump::render
