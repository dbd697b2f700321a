#include "fit/field_probe.h"

#include <fmt/format.h>

namespace beamdump::fit {

FieldVisibility probe_fields(const beam::Layout& layout,
                             const std::function<bool(const beam::Layout&)>& fits,
                             const std::function<void(std::size_t, std::size_t)>& on_progress) {
    constexpr std::uint32_t kMove = 8;
    std::size_t total = 0;
    for (const auto& [name, structure] : layout.structures()) {
        total += structure.fields.size();
    }
    FieldVisibility sight;
    std::size_t done = 0;
    for (const auto& [name, structure] : layout.structures()) {
        for (const auto& [field, place] : structure.fields) {
            on_progress(done++, total);
            auto& list = fits(layout.moved(name, field, kMove)) ? sight.unseen : sight.seen;
            list.push_back(fmt::format("{}.{}", name, field));
        }
    }
    return sight;
}

}  // namespace beamdump::fit
