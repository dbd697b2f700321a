#pragma once

#include <libdump/term/term_context.h>
#include <libdump/term/term_scheme.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beamdump::testing {

/// A node's words and tables, made up in a test. Regions may not overlap. Counts its calls.
class FakeTermContext final : public TermContext {
  public:
    struct FakeBinary {
        BinaryInfo info;
        std::string bytes;
    };

    void add_region(std::uint64_t address, std::vector<std::uint64_t> words) {
        regions[address] = std::move(words);
    }
    std::uint32_t intern(std::string_view name) {
        const auto [found, added] =
            atom_index.try_emplace(std::string(name), static_cast<std::uint32_t>(atoms.size()));
        if (added) {
            atoms.emplace_back(name);
        }
        return found->second;
    }
    FunctionName function(std::string_view module, std::string_view name, std::uint32_t arity) {
        return {.module_atom = intern(module), .function_atom = intern(name), .arity = arity};
    }

    Result<std::size_t> words(std::uint64_t address, std::span<std::uint64_t> into) override {
        ++word_calls;
        if (absent_begin <= address && address < absent_end) {
            return fail(ErrorCode::kAbsent, fmt::format("{:#x} was left out", address));
        }
        auto after = regions.upper_bound(address);
        if (after == regions.begin()) {
            return fail(ErrorCode::kUnmapped, fmt::format("nothing at {:#x}", address));
        }
        const auto& [begin, held] = *--after;
        const std::uint64_t first = (address - begin) / kWordBytes;
        if (first >= held.size()) {
            return fail(ErrorCode::kUnmapped, fmt::format("nothing at {:#x}", address));
        }
        std::size_t count = std::min<std::uint64_t>(into.size(), held.size() - first);
        if (address < absent_begin) {
            count = std::min<std::uint64_t>(count, (absent_begin - address) / kWordBytes);
        }
        std::memcpy(into.data(), held.data() + first, count * kWordBytes);
        return count;
    }

    [[nodiscard]] std::uint64_t region_bytes_bound() const override {
        std::uint64_t longest = 0;
        for (const auto& [address, held] : regions) {
            longest = std::max<std::uint64_t>(longest, held.size() * kWordBytes);
        }
        return longest;
    }

    AtomText atom(std::uint32_t index) override {
        return index < atoms.size() ? AtomText(atoms[index]) : std::nullopt;
    }
    std::optional<FunctionName> export_at(std::uint64_t address) override {
        return lookup(exports, address);
    }
    std::optional<FunInfo> fun_entry_at(std::uint64_t address) override {
        return lookup(funs, address);
    }
    std::optional<NodeInfo> node_at(std::uint64_t address) override {
        return lookup(nodes, address);
    }
    std::optional<std::uint64_t> catch_address(std::uint32_t index) override {
        return lookup(catches, index);
    }
    std::optional<CodeLocation> code_at(std::uint64_t address) override {
        if (const auto point = lookup(code_points, address)) {
            return CodeLocation{.function = std::nullopt,
                                .function_start = 0,
                                .mfa_start = 0,
                                .code_point = point,
                                .file = std::nullopt,
                                .line = std::nullopt};
        }
        const auto after = code.upper_bound(address);
        return after == code.begin() ? std::nullopt : std::optional(std::prev(after)->second);
    }
    Result<BinaryInfo> binary_at(std::uint64_t address) override {
        const auto found = binaries.find(address);
        if (found == binaries.end()) {
            return fail(ErrorCode::kAbsent, fmt::format("no binary at {:#x}", address));
        }
        return found->second.info;
    }
    std::optional<std::array<std::uint32_t, 3>> magic_reference(std::uint64_t address) override {
        return lookup(magic_references, address);
    }
    std::optional<std::uint64_t> resource_type(std::uint64_t address) override {
        return lookup(resource_types, address);
    }
    Result<std::size_t> binary_bytes(std::uint64_t address, std::uint64_t from,
                                     std::span<std::byte> into) override {
        const auto found = binaries.find(address);
        if (found == binaries.end()) {
            return fail(ErrorCode::kAbsent, fmt::format("no binary at {:#x}", address));
        }
        const std::uint64_t held =
            std::min<std::uint64_t>(found->second.info.captured_bytes, found->second.bytes.size());
        const std::size_t count =
            from >= held ? 0 : std::min<std::uint64_t>(into.size(), held - from);
        std::memcpy(into.data(), found->second.bytes.data() + from, count);
        return count;
    }

    std::map<std::uint64_t, std::vector<std::uint64_t>> regions;
    std::vector<std::string> atoms;
    std::unordered_map<std::string, std::uint32_t> atom_index;
    std::unordered_map<std::uint64_t, FunctionName> exports;
    std::unordered_map<std::uint64_t, FunInfo> funs;
    std::unordered_map<std::uint64_t, NodeInfo> nodes;
    std::unordered_map<std::uint32_t, std::uint64_t> catches;
    std::map<std::uint64_t, CodeLocation> code;  ///< by the first address of each function
    std::unordered_map<std::uint64_t, std::string> code_points;
    std::unordered_map<std::uint64_t, FakeBinary> binaries;
    std::unordered_map<std::uint64_t, std::array<std::uint32_t, 3>> magic_references;
    std::unordered_map<std::uint64_t, std::uint64_t> resource_types;
    std::uint64_t absent_begin = 0;  ///< addresses that are in a region but not in the dump
    std::uint64_t absent_end = 0;
    std::uint64_t word_calls = 0;

  private:
    template <typename Map, typename Key>
    static std::optional<typename Map::mapped_type> lookup(const Map& map, Key key) {
        const auto found = map.find(static_cast<typename Map::key_type>(key));
        return found == map.end() ? std::nullopt
                                  : std::optional<typename Map::mapped_type>(found->second);
    }
};

/// Builds terms of the OTP 25 scheme in one growing region of a FakeTermContext.
class TermBuilder {
  public:
    using Word = std::uint64_t;
    static constexpr std::uint64_t kHeap = 0x7f00'0000'0000;

    explicit TermBuilder(FakeTermContext& context, std::uint64_t heap = kHeap)
        : context_(context), heap_(heap) {
        context_.regions[heap_];
    }

    static Word nil() { return 0x3B; }
    static Word small(std::int64_t value) { return static_cast<Word>(value) << 4U | 0xFU; }
    static Word pid(Word number, Word serial) { return (serial << 15U | number) << 4U | 0x3U; }
    static Word port(Word number) { return number << 4U | 0x7U; }
    static Word catch_word(Word index) { return index << 6U | 0x1BU; }
    static Word header(Word arity, Word subtag) { return arity << 6U | subtag << 2U; }
    Word atom(std::string_view name) { return Word{context_.intern(name)} << 6U | 0xBU; }

    /// Appends words to the heap; gives the address of the first.
    std::uint64_t put(std::initializer_list<Word> words) { return put(std::vector<Word>(words)); }
    std::uint64_t put(const std::vector<Word>& words) {
        auto& held = context_.regions[heap_];
        const std::uint64_t address = heap_ + held.size() * kWordBytes;
        held.insert(held.end(), words.begin(), words.end());
        return address;
    }
    /// Overwrites a word that put() gave the address of.
    void poke(std::uint64_t address, Word word) {
        context_.regions[heap_].at((address - heap_) / kWordBytes) = word;
    }
    static Word boxed(std::uint64_t address) { return address + 2; }
    static Word list_at(std::uint64_t address) { return address + 1; }

    Word cons(Word head, Word tail) { return list_at(put({head, tail})); }
    Word list(const std::vector<Word>& elements, Word tail = nil()) {
        for (auto element = elements.rbegin(); element != elements.rend(); ++element) {
            tail = cons(*element, tail);
        }
        return tail;
    }
    Word string(std::string_view bytes) {
        std::vector<Word> elements;
        for (const char c : bytes) {
            elements.push_back(small(static_cast<unsigned char>(c)));
        }
        return list(elements);
    }
    Word tuple(const std::vector<Word>& elements) {
        std::vector<Word> words = {header(elements.size(), 0)};
        words.insert(words.end(), elements.begin(), elements.end());
        return boxed(put(words));
    }
    Word big(const std::vector<Word>& magnitude, bool negative = false) {
        std::vector<Word> words = {header(magnitude.size(), negative ? 3 : 2)};
        words.insert(words.end(), magnitude.begin(), magnitude.end());
        return boxed(put(words));
    }
    Word floating(double value) {
        return boxed(put({header(1, 6), std::bit_cast<std::uint64_t>(value)}));
    }
    Word flat_map(const std::vector<std::pair<Word, Word>>& pairs) {
        std::vector<Word> keys;
        keys.reserve(pairs.size());
        for (const auto& pair : pairs) {
            keys.push_back(pair.first);
        }
        std::vector<Word> words = {header(0, 15) | 1U << 8U, pairs.size(), tuple(keys)};
        for (const auto& pair : pairs) {
            words.push_back(pair.second);
        }
        return boxed(put(words));
    }
    Word hash_node(Word bitmap, const std::vector<Word>& items) {
        return hash_part(1, bitmap, {}, items);
    }
    Word hash_head(Word bitmap, Word size, const std::vector<Word>& items) {
        return hash_part(bitmap == 0xFFFFU ? 2 : 3, bitmap, {size}, items);
    }

    Word heap_binary(std::string_view bytes) {
        const std::size_t data_words = (bytes.size() + kWordBytes - 1) / kWordBytes;
        std::vector<Word> words(2 + data_words);
        words[0] = header(data_words + 1, 9);
        words[1] = bytes.size();
        std::memcpy(words.data() + 2, bytes.data(), bytes.size());
        return boxed(put(words));
    }
    /// A reference-counted binary of which the first `captured` bytes are in the dump.
    Word refc_binary(std::string_view bytes, std::size_t captured) {
        const std::uint64_t binary = next_binary_;
        const std::uint64_t data = binary + 24;
        next_binary_ += 0x1000'0000;
        context_.binaries[binary] = {.info = {.data_address = data,
                                              .size_bytes = bytes.size(),
                                              .captured_bytes = captured,
                                              .references = 1},
                                     .bytes = std::string(bytes)};
        return boxed(put({header(5, 8), bytes.size(), 0, binary, data, 0}));
    }
    Word refc_binary(std::string_view bytes) { return refc_binary(bytes, bytes.size()); }
    Word sub_binary(Word original, Word offset, Word size, unsigned bit_offset = 0,
                    unsigned bit_size = 0) {
        return boxed(
            put({header(3, 10), size, offset, Word{bit_size} | Word{bit_offset} << 8U, original}));
    }
    Word match_context(Word original) { return boxed(put({header(5, 1), original, 0, 0, 0, 0})); }

    Word reference(std::array<std::uint32_t, 3> n) {
        return boxed(put({header(2, 4), 0xFFFF'FFFFU | Word{n[0]} << 32U, halves(n[1], n[2])}));
    }
    Word pid_reference(std::array<std::uint32_t, 3> n, Word pid_word) {
        return boxed(
            put({header(3, 4), 0xFFFF'FFFFU | Word{n[0]} << 32U, halves(n[1], n[2]), pid_word}));
    }
    Word magic_reference(std::array<std::uint32_t, 3> n) {
        const std::uint64_t binary = next_binary_;
        next_binary_ += 0x1000'0000;
        context_.magic_references[binary] = n;
        return boxed(put({header(2, 4), binary, 0}));
    }
    /// An ErlNode; `self` for the node the words come from.
    std::uint64_t node(std::string_view name, bool self = false) {
        const std::uint64_t address = next_binary_;
        next_binary_ += 0x1000'0000;
        context_.nodes[address] = {
            .name_atom = context_.intern(name), .creation = 1, .is_self = self};
        return address;
    }
    Word external_pid(std::uint64_t node_address, Word number, Word serial) {
        return boxed(put({header(3, 12), node_address, 0, halves(number, serial)}));
    }
    Word external_port(std::uint64_t node_address, Word id) {
        return boxed(put({header(3, 13), node_address, 0, id}));
    }
    Word external_reference(std::uint64_t node_address, const std::vector<std::uint32_t>& n) {
        std::vector<std::uint32_t> numbers = {static_cast<std::uint32_t>(n.size())};
        numbers.insert(numbers.end(), n.begin(), n.end());
        numbers.resize(numbers.size() + numbers.size() % 2);
        std::vector<Word> words = {header(2 + numbers.size() / 2, 14), node_address, 0};
        for (std::size_t i = 0; i < numbers.size(); i += 2) {
            words.push_back(halves(numbers[i], numbers[i + 1]));
        }
        return boxed(put(words));
    }
    Word local_fun(std::string_view module, std::uint32_t index, std::int32_t uniq,
                   const std::vector<Word>& environment = {}) {
        const std::uint64_t entry = next_binary_;
        next_binary_ += 0x1000'0000;
        context_.funs[entry] = {
            .module_atom = context_.intern(module), .index = index, .old_uniq = uniq, .arity = 1};
        std::vector<Word> words = {header(3, 5), entry, 0, 1U | Word{environment.size()} << 8U,
                                   pid(9, 0)};
        words.insert(words.end(), environment.begin(), environment.end());
        return boxed(put(words));
    }
    Word export_fun(std::string_view module, std::string_view name, std::uint32_t arity) {
        const std::uint64_t entry = next_binary_;
        next_binary_ += 0x1000'0000;
        context_.exports[entry] = context_.function(module, name, arity);
        return boxed(put({header(3, 5), entry, 0, arity, atom("external")}));
    }

  private:
    static Word halves(Word low, Word high) { return low | high << 32U; }
    Word hash_part(Word type, Word bitmap, std::vector<Word> before,
                   const std::vector<Word>& items) {
        const Word arity = before.size();
        before.insert(before.begin(), header(type, 15) | arity << 8U | bitmap << 16U);
        before.insert(before.end(), items.begin(), items.end());
        return boxed(put(before));
    }

    FakeTermContext& context_;
    std::uint64_t heap_;
    std::uint64_t next_binary_ = 0x7e00'0000'0000;
};

/// The tags of OTP 24 to 26.
inline TagScheme otp25_scheme() {
    return scheme_of(format::TermScheme::kOtp25).value();
}

}  // namespace beamdump::testing
