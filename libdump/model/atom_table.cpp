#include <libdump/base/return_if_error.h>
#include <libdump/model/atom_table.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump {

namespace {
constexpr std::size_t kAtomPagesHeld = 16;
}

AtomTable::AtomTable(DumpReader& reader, Faults& faults)
    : reader_(reader), faults_(faults), cache_(kAtomPagesHeld) {
    for (const auto& page : reader.trailer().atoms()) {
        pages_.push_back({page.first_index(), page.offset()});
    }
    std::ranges::sort(pages_, {}, &Page::first);
}

Result<std::shared_ptr<const records::Atoms>> AtomTable::load(const Page& page) {
    if (auto known = cache_.find(page.offset)) {
        return known;
    }
    auto atoms = reader_.message_at<records::Atoms>(page.offset, format::RecordKind::kAtoms);
    if (!atoms) {
        return wrap("reading atoms", std::move(atoms.error()));
    }
    return cache_.insert(page.offset, std::move(*atoms));
}

Result<std::optional<std::string>> AtomTable::find(std::uint32_t index) {
    auto after = std::ranges::upper_bound(pages_, index, {}, &Page::first);
    if (after == pages_.begin()) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(auto atoms, load(*std::prev(after)));
    const std::uint32_t place = index - atoms->first_index();
    if (index < atoms->first_index() || place >= static_cast<std::uint32_t>(atoms->text_size())) {
        return std::nullopt;
    }
    return atoms->text(static_cast<int>(place));
}

std::optional<std::string> AtomTable::text(std::uint32_t index) {
    auto found = find(index);
    if (!found) {
        faults_.note(found.error());
        return std::nullopt;
    }
    return std::move(*found);
}

Result<std::optional<std::uint32_t>> AtomTable::index_of(std::string_view name) {
    for (const Page& page : pages_) {
        ASSIGN_OR_RETURN(auto atoms, load(page));
        const auto& texts = atoms->text();
        const auto found = std::ranges::find(texts, name);
        if (found != texts.end()) {
            return atoms->first_index() +
                   static_cast<std::uint32_t>(std::distance(texts.begin(), found));
        }
    }
    return std::nullopt;
}

Result<void> AtomTable::visit_newest_first(
    const std::function<void(std::uint32_t, const std::string&)>& visit) {
    // Where pages overlap, an index is that of the page which text() reads.
    std::uint64_t end = std::uint64_t{1} << 32U;
    for (std::size_t i = pages_.size(); i-- > 0;) {
        ASSIGN_OR_RETURN(auto atoms, load(pages_[i]));
        const std::uint64_t first = atoms->first_index();
        std::uint64_t count = static_cast<std::uint64_t>(atoms->text_size());
        count = std::min(count, end - std::min(end, first));
        while (count-- > 0) {
            visit(static_cast<std::uint32_t>(first + count), atoms->text(static_cast<int>(count)));
        }
        end = std::min(end, first);
    }
    return {};
}

}  // namespace beamdump
