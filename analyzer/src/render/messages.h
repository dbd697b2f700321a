#pragma once

#include "query/process/dictionary.h"
#include "query/process/messages.h"
#include "render/shared/output.h"

namespace beamdump::render {

Result<void> messages_text(Output& output, query::MessageListing& listing);
/// schemas/json/messages.schema.json
Result<void> messages_json(Output& output, query::MessageListing& listing);

Result<void> dictionary_text(Output& output, query::DictionaryListing& listing);
/// schemas/json/dictionary.schema.json
Result<void> dictionary_json(Output& output, query::DictionaryListing& listing);

}  // namespace beamdump::render
