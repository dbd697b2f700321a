#include <libvm/fit/field_probe.h>
#include <libvm/fit/layout_part.h>

#include <fmt/format.h>

namespace beamdump::fit {

FieldVisibility probe_fields(const beam::Layout& layout,
                             const std::function<bool(const beam::Layout&)>& fits,
                             const std::function<void(std::size_t, std::size_t)>& on_progress) {
    constexpr std::uint32_t kMove = 8;
    const auto part_of = [](const std::string& structure) -> const LayoutPart& {
        return layout_parts()[part_of_structure(structure)];
    };
    std::size_t total = 0;
    for (const auto& [name, structure] : layout.structures()) {
        const auto& part = part_of(name);
        total += part.seen_by_checks ? structure.fields.size() : 0;
    }
    FieldVisibility sight;
    std::size_t done = 0;
    for (const auto& [name, structure] : layout.structures()) {
        const auto& part = part_of(name);
        for (const auto& [field, place] : structure.fields) {
            bool is_seen = false;
            if (part.seen_by_checks) {
                on_progress(done++, total);
                is_seen = !fits(layout.moved(name, field, kMove));
            }
            auto& list = is_seen ? sight.seen : sight.unseen;
            list.push_back(fmt::format("{}.{}", name, field));
        }
    }
    return sight;
}

}  // namespace beamdump::fit
