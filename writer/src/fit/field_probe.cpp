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
        for (const auto& [field, place] : structure.fields) {
            const auto full_name = fmt::format("{}.{}", name, field);
            if (!is_checked(name)) {
                sight.unseen.push_back(full_name);
                continue;
            }
            on_progress(done++, total);
            auto& list = fits(layout.moved(name, field, kMove)) ? sight.unseen : sight.seen;
            list.push_back(full_name);
        }
    }
    return sight;
}

}  // namespace beamdump::fit
