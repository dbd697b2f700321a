#include "render/resource_holders.h"

#include "render/holders.h"
#include "render/shared/process_counts.h"

#include <libdump/base/amount_text.h>

#include <fmt/format.h>

namespace beamdump::render {

RowListExtras resource_holder_extras(const query::ResourceHolders& answer) {
    RowListExtras extras;
    extras.text_before = [&answer](Output& output) {
        output.print("NIF resources of the type {}: {}terms refer to {}\n", one_line(answer.type),
                     answer.living ? fmt::format("{} live, ", count_text(*answer.living)) : "",
                     count_text(answer.referred_to));
    };
    extras.json_before = [&answer](JsonWriter& json) {
        json.member("type", answer.type);
        json.member("living", answer.living);
        json.member("referred_to", answer.referred_to);
        write_searched(json, answer.node);
        json.member("unreadable", answer.unreadable);
        write_processes_read(json, answer.read);
    };
    return extras;
}

}  // namespace beamdump::render
