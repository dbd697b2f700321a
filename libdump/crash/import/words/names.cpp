#include <libdump/crash/import/words/names.h>
#include <libdump/term/term_context.h>

#include <algorithm>

namespace beamdump::crash {

std::uint32_t Names::atom(std::string_view text) {
    const auto found = atom_numbers_.find(text);
    if (found != atom_numbers_.end()) {
        return found->second;
    }
    const auto number = next_atom_++;
    atom_numbers_.emplace(text, number);
    atoms_.emplace(number, text);
    use(budget_, 2 * (text.size() + kEntryMemory));
    return number;
}

std::uint32_t Names::node_channel(std::uint32_t channel, std::string_view name) {
    if (channel >= kFirstAtom) {
        return atom(name);
    }
    const auto made = atoms_.try_emplace(channel, name);
    if (made.second) {
        atom_numbers_.insert_or_assign(std::string(name), channel);
        use(budget_, 2 * (name.size() + kEntryMemory));
    }
    return channel;
}

std::uint32_t Names::node_atom(std::string_view name) {
    const auto known = atom_numbers_.find(name);
    if (known != atom_numbers_.end() && known->second < kFirstAtom) {
        return known->second;
    }
    // FNV-1a, as whose numbers do not depend on what else was met.
    std::uint32_t hash = 0x811C9DC5U;
    for (const auto letter : name) {
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x01000193U;
    }
    for (auto number = kFirstNodeAtom + hash % kFirstNodeAtom;; ++number) {
        const auto made = atoms_.try_emplace(number, name);
        if (made.second) {
            use(budget_, name.size() + kEntryMemory);
        }
        if (made.second || made.first->second == name) {
            return number;
        }
    }
}

std::uint64_t Names::node_of_channel(std::uint64_t channel) {
    const auto number = static_cast<std::uint32_t>(channel);
    const auto known = atoms_.find(number);
    const auto name = known == atoms_.end() ? std::to_string(number) : known->second;
    return node({node_channel(number, name), 0});
}

void Names::code(const Function& function, std::uint64_t address, std::uint64_t offset) {
    const auto mfa_offset = mfa_offset_of(word_bytes_);
    if (address < offset + mfa_offset) {
        return;
    }
    const auto made = code_[function.module_atom].try_emplace(address - offset - mfa_offset);
    if (made.second) {
        use(budget_, 2 * kEntryMemory);
    }
    auto& known = made.first->second;
    known.function_atom = function.function_atom;
    known.arity = function.arity;
    known.last = std::max(known.last, address);
}

bool Names::restore_atom(std::uint32_t number, std::string_view text, bool found) {
    use(budget_, 2 * (text.size() + kEntryMemory));
    if (found) {
        atom_numbers_.insert_or_assign(std::string(text), number);
    }
    return atoms_.try_emplace(number, text).second;
}

void Names::restore_code(std::uint32_t module_atom, std::uint64_t start, const Code& code) {
    use(budget_, 2 * kEntryMemory);
    code_[module_atom].insert_or_assign(start, code);
}

void Names::code_point(std::string_view shown, std::uint64_t address) {
    if (code_points_.try_emplace(address, shown).second) {
        use(budget_, shown.size() + kEntryMemory);
    }
}

std::uint32_t Names::catch_at(std::uint64_t address) {
    const auto made =
        catch_numbers_.try_emplace(address, static_cast<std::uint32_t>(catches_.size() + 1));
    if (made.second) {
        catches_.push_back(address);
        use(budget_, kEntryMemory);
    }
    return made.first->second;
}

}  // namespace beamdump::crash
