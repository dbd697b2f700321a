#pragma once

#include "query/holders/resource_holders.h"
#include "render/shared/row_list.h"

namespace beamdump::render {

inline constexpr RowListTexts kResourceHolderTexts{"beamdump.resources/1", "holders", "holders"};

/// What is said beside the holders. `answer` must outlive it.
RowListExtras resource_holder_extras(const query::ResourceHolders& answer);

}  // namespace beamdump::render
