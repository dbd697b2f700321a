#pragma once

#include <libdump/base/budget.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace beamdump::crash {

/// What a crash dump names by its text, and a dump by number or address: given out as it is met.
/// Memory in proportion to the different names.
class Names {
  public:
    /// Non-owning: counts what the names take; null: no bound. `word_bytes`: of the node.
    explicit Names(Budget* budget = nullptr, std::uint64_t word_bytes = 8)
        : budget_(budget), word_bytes_(word_bytes) {}
    Names(const Names&) = delete;
    Names& operator=(const Names&) = delete;
    Names(Names&&) = default;
    Names& operator=(Names&&) = default;
    ~Names() = default;

    // Below: numbers of nodes' names, as they were.
    static constexpr std::uint32_t kFirstAtom = 1U << 24U;
    static constexpr std::uint32_t kFirstNodeAtom = 1U << 25U;

    struct Function {
        std::uint32_t module_atom = 0;
        std::uint32_t function_atom = 0;
        std::uint32_t arity = 0;
        bool operator==(const Function&) const = default;
        auto operator<=>(const Function&) const = default;
    };
    struct Fun {
        std::uint32_t module_atom = 0;
        std::uint32_t index = 0;
        std::int32_t uniq = 0;
        std::uint32_t arity = 0;
        auto operator<=>(const Fun&) const = default;
    };
    struct Node {
        std::uint32_t name_atom = 0;
        std::uint32_t creation = 0;
        auto operator<=>(const Node&) const = default;
    };
    /// A function's code, as far as addresses in it were met.
    struct Code {
        std::uint32_t function_atom = 0;
        std::uint32_t arity = 0;
        std::uint64_t last = 0;
    };

    /// kLimit once the names, or what else counts there, takes too much.
    [[nodiscard]] Result<void> check() const {
        return budget_ == nullptr ? Result<void>() : budget_->check_memory();
    }
    [[nodiscard]] Budget* budget() const { return budget_; }

    /// The atom's number. `text`: UTF-8.
    std::uint32_t atom(std::string_view text);
    /// An atom that stands in text of our own as an object at that address.
    void atom_object(std::uint64_t address, std::string_view text) {
        atom_objects_.insert_or_assign(address, atom(text));
        use(budget_, kEntryMemory);
    }
    /// Its number; nothing where there is no such.
    [[nodiscard]] std::optional<std::uint32_t> atom_at(std::uint64_t address) const {
        const auto found = atom_objects_.find(address);
        return found == atom_objects_.end() ? std::nullopt : std::optional(found->second);
    }
    /// In the order of their numbers.
    [[nodiscard]] const std::map<std::uint32_t, std::string>& atoms() const { return atoms_; }

    /// The node whose name was the atom with the number `channel`: that is kept, for it is printed.
    std::uint32_t node_channel(std::uint32_t channel, std::string_view name);

    /// The number of the name of a node that an external term names: the same in every answer, for
    /// it is printed.
    std::uint32_t node_atom(std::string_view name);

    /// The address of the node with that number, under its name where that is known.
    std::uint64_t node_of_channel(std::uint64_t channel);

    /// Addresses of what stands in the runtime's tables.
    std::uint64_t fun(const Fun& fun) { return funs_.number(fun, budget_); }
    std::uint64_t export_of(const Function& function) { return exports_.number(function, budget_); }
    std::uint64_t node(const Node& node) { return nodes_.number(node, budget_); }
    [[nodiscard]] const auto& funs() const { return funs_.numbers; }
    [[nodiscard]] const auto& exports() const { return exports_.numbers; }
    [[nodiscard]] const auto& nodes() const { return nodes_.numbers; }
    /// By the order of their addresses.
    [[nodiscard]] const Node* node_in_order(std::size_t place) const { return nodes_.keys[place]; }
    /// What has that address; null: nothing.
    [[nodiscard]] const Fun* fun_at(std::uint64_t address) const { return funs_.at(address); }
    [[nodiscard]] const Function* export_at(std::uint64_t address) const {
        return exports_.at(address);
    }
    [[nodiscard]] const Node* node_at(std::uint64_t address) const { return nodes_.at(address); }

    /// `offset`: distance of `address` from the function's ErtsCodeMFA, in bytes.
    void code(const Function& function, std::uint64_t address, std::uint64_t offset);
    /// A module that is loaded, also where no address in its code was met.
    void loaded_module(std::string_view name) { code_.try_emplace(atom(name)); }
    /// By module, then by the address of the function's ErtsCodeInfo. Without functions: a module
    /// of which only the name is known.
    [[nodiscard]] const auto& code() const { return code_; }
    /// Code that all modules share, by what the VM prints for it.
    void code_point(std::string_view shown, std::uint64_t address);
    [[nodiscard]] const auto& code_points() const { return code_points_; }
    /// The number of the catch that leads to that address.
    std::uint32_t catch_at(std::uint64_t address);
    [[nodiscard]] const std::vector<std::uint64_t>& catches() const { return catches_; }

    /// What the facts of processes name, to be kept in a record and read back (names_record.h).
    [[nodiscard]] std::uint32_t next_atom() const { return next_atom_; }
    /// Whether atom() gives that number for the text.
    [[nodiscard]] bool is_found(std::string_view text, std::uint32_t number) const {
        const auto found = atom_numbers_.find(text);
        return found != atom_numbers_.end() && found->second == number;
    }
    void restore_next_atom(std::uint32_t number) { next_atom_ = number; }
    /// Whether it was new.
    bool restore_atom(std::uint32_t number, std::string_view text, bool found);
    void restore_code(std::uint32_t module_atom, std::uint64_t start, const Code& code);

  private:
    // Addresses that no user process of any system has.
    static constexpr std::uint64_t kFuns = 0x0F00'0000'0000'0000;
    static constexpr std::uint64_t kExports = 0x0F10'0000'0000'0000;
    static constexpr std::uint64_t kNodes = 0x0F20'0000'0000'0000;

    static constexpr std::uint64_t kEntryMemory = 128;  // of one name in a table, about
    static void use(Budget* budget, std::uint64_t bytes) {
        if (budget != nullptr) {
            budget->use_memory(bytes);
        }
    }

    /// A table of the runtime, whose entries lie one behind the other.
    template <typename Key, std::uint64_t kBase>
    struct Table {
        static constexpr std::uint64_t kEntryBytes = 64;
        std::map<Key, std::uint64_t> numbers;
        std::vector<const Key*> keys;  // in `numbers`

        std::uint64_t number(const Key& key, Budget* budget) {
            const auto made = numbers.try_emplace(key, kBase + keys.size() * kEntryBytes);
            if (made.second) {
                keys.push_back(&made.first->first);
                use(budget, kEntryMemory);
            }
            return made.first->second;
        }
        [[nodiscard]] const Key* at(std::uint64_t address) const {
            const auto entry = (address - kBase) / kEntryBytes;
            return address < kBase || entry >= keys.size() ? nullptr : keys[entry];
        }
    };
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>()(text);
        }
    };
    Budget* budget_;
    std::uint64_t word_bytes_;
    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> atom_numbers_;
    std::map<std::uint32_t, std::string> atoms_;
    std::unordered_map<std::uint64_t, std::uint32_t> atom_objects_;
    std::uint32_t next_atom_ = kFirstAtom;
    Table<Fun, kFuns> funs_;
    Table<Function, kExports> exports_;
    Table<Node, kNodes> nodes_;
    std::map<std::uint32_t, std::map<std::uint64_t, Code>> code_;
    std::map<std::uint64_t, std::string> code_points_;
    std::vector<std::uint64_t> catches_;
    std::unordered_map<std::uint64_t, std::uint32_t> catch_numbers_;
};

}  // namespace beamdump::crash
