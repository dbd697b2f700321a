#pragma once

#include "query/facts/dump_facts.h"
#include "query/things/things.h"
#include "render/shared/output.h"

#include <memory>

namespace beamdump::render {

/// One line of JSON for each thing: its kind, the dump's node and time, its fields
/// (schemas/json/export-line.schema.json). Non-owning.
std::unique_ptr<query::ThingVisitor> ndjson_writer(Output& output, const query::DumpFacts& facts);

/// All things as one JSON document (schemas/json/export.schema.json), which finish() ends.
class JsonDocument : public query::ThingVisitor {
  public:
    virtual void finish() = 0;
};
std::unique_ptr<JsonDocument> json_document(Output& output, const query::DumpFacts& facts);

/// A graph for Graphviz of the things of visit_graph(): processes, with edges to their parents, to
/// linked processes and to those that they wait for. finish() ends it. Memory: 200 bytes an edge.
class DotGraph : public query::ThingVisitor {
  public:
    virtual void finish() = 0;
};
std::unique_ptr<DotGraph> dot_graph(Output& output, const query::DumpFacts& facts);

}  // namespace beamdump::render
