#include "fit/field_probe.h"

#include <fmt/format.h>

namespace beamdump::fit {

FieldSight probe_fields(const beam::Layout& layout,
                        const std::function<bool(const beam::Layout&)>& fits,
                        const std::function<void(std::size_t, std::size_t)>& told) {
    constexpr std::uint32_t kMove = 8;
    std::size_t total = 0;
    for (const auto& [name, structure] : layout.structures()) {
        total += structure.fields.size();
    }
    FieldSight sight;
    std::size_t done = 0;
    for (const auto& [name, structure] : layout.structures()) {
        for (const auto& [field, place] : structure.fields) {
            told(done++, total);
            auto& list = fits(layout.moved(name, field, kMove)) ? sight.unseen : sight.seen;
            list.push_back(fmt::format("{}.{}", name, field));
        }
    }
    return sight;
}

}  // namespace beamdump::fit
