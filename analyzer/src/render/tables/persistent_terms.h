#pragma once

#include "query/facts/dump_facts.h"
#include "query/tables/persistent_terms.h"
#include "render/shared/output.h"

namespace beamdump::render {

/// A list of persistent terms. Takes its rows.
/// Take the rows of the list. `groups`: it was asked for groups of them.
void persistent_terms_text(Output& output, query::PersistentTermsAnswer& answer,
                           const query::DumpFacts& facts, bool groups);
void persistent_terms_json(Output& output, query::PersistentTermsAnswer& answer,
                           const query::DumpFacts& facts, bool groups);

/// The terms with one key. Gives the number of placeholders in their texts.
Result<std::uint64_t> persistent_term_text(Output& output, Dump& dump, const std::string& key,
                                           std::size_t term_bytes, const query::DumpFacts& facts);
Result<std::uint64_t> persistent_term_json(Output& output, Dump& dump, const std::string& key,
                                           std::size_t term_bytes, const query::DumpFacts& facts);

}  // namespace beamdump::render
