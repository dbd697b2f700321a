#include <libdump/term/atom_text.h>
#include <libdump/term/record_names.h>

namespace beamdump {

void RecordNames::add(std::string_view module, std::string tag, std::vector<std::string> fields) {
    const std::size_t arity = fields.size() + 1;
    for (std::string& field : fields) {
        field = quoted_atom(field);
    }
    const auto [entry, added] = records_.try_emplace({std::move(tag), arity});
    Definition& definition = entry->second;
    if (added) {
        definition.module = module;
        definition.fields = std::move(fields);
    } else if (definition.fields != fields && !definition.differs_in) {
        definition.differs_in = module;
    }
}

const std::vector<std::string>* RecordNames::find(std::string_view tag, std::uint64_t arity) const {
    const auto found = records_.find(std::pair(std::string(tag), static_cast<std::size_t>(arity)));
    return found == records_.end() || found->second.differs_in ? nullptr : &found->second.fields;
}

std::vector<RecordNames::Ambiguous> RecordNames::ambiguous() const {
    std::vector<Ambiguous> list;
    for (const auto& [key, definition] : records_) {
        if (definition.differs_in) {
            list.push_back({key.first, key.second, definition.module, *definition.differs_in});
        }
    }
    return list;
}

}  // namespace beamdump
