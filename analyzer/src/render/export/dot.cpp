#include "render/export/thing_writers.h"
#include "render/shared/table.h"
#include "render/shared/units.h"

#include <libdump/base/utf8.h>

#include <fmt/format.h>

#include <set>
#include <string>
#include <unordered_set>
#include <utility>

namespace beamdump::render {

namespace {

/// In quotes, as Graphviz reads it.
std::string graph_id(std::string_view text) {
    std::string result = "\"";
    for (const char c : one_line(valid_utf8(text))) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += c;
    }
    return result + '"';
}

/// The cell of a column as text; empty if absent.
std::string text_of(const query::ThingKind& kind, const query::Row& row, std::string_view name) {
    for (std::size_t at = 0; at < row.size(); ++at) {
        if (kind.columns[at].name == name) {
            const auto* text = std::get_if<std::string>(&row[at]);
            return text == nullptr ? std::string() : *text;
        }
    }
    return {};
}

class Graph final : public DotGraph {
  public:
    Graph(Output& output, const query::DumpFacts& facts) : output_(output) {
        output_.write("digraph processes {\n  rankdir=LR;\n  node [shape=box];\n");
        output_.print("  label={};\n",
                      graph_id(facts.node_name.value_or("") +
                               ": children (solid), links (dotted), waits (bold)"));
    }

    Result<void> begin(const query::ThingKind& /*kind*/,
                       std::optional<std::uint64_t> /*total*/) override {
        return {};
    }

    Result<void> thing(const query::ThingKind& kind, const query::Row& row) override {
        const std::string pid = text_of(kind, row, "pid");
        if (&kind == &query::process_kind()) {
            process(pid, kind, row);
        } else if (&kind == &query::parent_kind()) {
            parent(pid, text_of(kind, row, "parent"));
        } else if (&kind == &query::wait_kind()) {
            output_.print("  {} -> {} [style=bold, color=red, constraint=false];\n", graph_id(pid),
                          graph_id(text_of(kind, row, "waits_for")));
        } else if (&kind == &query::link_kind()) {
            link(pid, text_of(kind, row, "other"));
        }
        return output_.ok() ? Result<void>() : std::unexpected(*output_.error());
    }

    void finish() override { output_.write("}\n"); }

  private:
    void process(const std::string& pid, const query::ThingKind& kind, const query::Row& row) {
        known_.insert(pid);
        const std::string name = text_of(kind, row, "display_name");
        std::string label = graph_id(name + " " + pid);
        for (std::size_t at = 0; at < row.size(); ++at) {
            const auto* bytes = std::get_if<std::uint64_t>(&row[at]);
            if (bytes != nullptr && kind.columns[at].name == "memory") {
                label.insert(label.size() - 1, "\\n" + bytes_text(*bytes));
            }
        }
        output_.print("  {} [label={}];\n", graph_id(pid), label);
    }

    void parent(const std::string& pid, const std::string& parent) {
        if (known_.contains(parent)) {
            joined_.insert(std::minmax(pid, parent));
            output_.print("  {} -> {};\n", graph_id(parent), graph_id(pid));
        }
    }

    /// Both sides have it; a child's link to its parent is not drawn.
    void link(const std::string& pid, const std::string& other) {
        if (known_.contains(other) && joined_.insert(std::minmax(pid, other)).second) {
            output_.print("  {} -> {} [dir=none, style=dotted, constraint=false];\n", graph_id(pid),
                          graph_id(other));
        }
    }

    Output& output_;
    std::unordered_set<std::string> known_;
    std::set<std::pair<std::string, std::string>> joined_;
};

}  // namespace

std::unique_ptr<DotGraph> dot_graph(Output& output, const query::DumpFacts& facts) {
    return std::make_unique<Graph>(output, facts);
}

}  // namespace beamdump::render
