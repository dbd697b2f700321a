#include "fit/field_probe.h"

#include "fit/layout_part.h"

#include <fmt/format.h>

namespace beamdump::fit {

FieldVisibility probe_fields(const beam::Layout& layout,
                             const std::function<bool(const beam::Layout&)>& fits,
                             const std::function<void(std::size_t, std::size_t)>& on_progress) {
    constexpr std::uint32_t kMove = 8;
    const auto is_checked = [](const std::string& structure) {
        return layout_parts()[part_of_structure(structure)].checked;
    };
    std::size_t total = 0;
    for (const auto& [name, structure] : layout.structures()) {
        total += is_checked(name) ? structure.fields.size() : 0;
    }
    FieldVisibility sight;
    std::size_t done = 0;
    for (const auto& [name, structure] : layout.structures()) {
        if (!is_checked(name)) {
            continue;
        }
        for (const auto& [field, place] : structure.fields) {
            on_progress(done++, total);
            auto& list = fits(layout.moved(name, field, kMove)) ? sight.unseen : sight.seen;
            list.push_back(fmt::format("{}.{}", name, field));
        }
    }
    return sight;
}

}  // namespace beamdump::fit
