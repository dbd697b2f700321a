#include "late_context.h"

#include "byte_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::crash {
namespace {

/// How bytes become text.
struct Coding {
    std::uint64_t group_bytes = 0;
    std::uint64_t group_characters = 0;
};

constexpr Coding coding_of(bool base64) {
    return base64 ? Coding{3, 4} : Coding{1, 2};
}

Error no_binary(std::uint64_t address) {
    return {ErrorCode::kAbsent, fmt::format("the crash dump has no binary at {:#x}", address)};
}

}  // namespace

std::vector<std::string> LateContext::missing() const {
    if (!heap_ || heap_->counts().malformed == 0) {
        return {};
    }
    return {heap_->counts().text()};
}

Result<std::size_t> LateContext::words(std::uint64_t address, std::span<std::uint64_t> into) {
    return heap_ ? heap_->words(address, into)
                 : fail(ErrorCode::kUnmapped, "the process has no heap in the crash dump");
}

std::uint64_t LateContext::region_bytes_bound() const {
    return heap_ ? heap_->most_words() * WordImage::kWordBytes : 0;
}

AtomText LateContext::atom(std::uint32_t index) {
    const auto& atoms = node_->names.atoms();
    const auto found = atoms.find(index);
    return found == atoms.end() ? AtomText() : AtomText(found->second);
}

std::optional<FunctionName> LateContext::export_at(std::uint64_t address) {
    const auto* const found = node_->names.export_at(address);
    return found == nullptr ? std::nullopt
                            : std::optional(FunctionName{found->module_atom, found->function_atom,
                                                         found->arity});
}

std::optional<FunInfo> LateContext::fun_entry_at(std::uint64_t address) {
    const auto* const found = node_->names.fun_at(address);
    return found == nullptr ? std::nullopt
                            : std::optional(FunInfo{found->module_atom, found->index, found->uniq,
                                                    found->arity});
}

std::optional<NodeInfo> LateContext::node_at(std::uint64_t address) {
    const auto* const found = node_->names.node_at(address);
    return found == nullptr
               ? std::nullopt
               : std::optional(NodeInfo{found->name_atom, found->creation,
                                        atom(found->name_atom) == node_->format.node_name});
}

std::optional<std::uint64_t> LateContext::catch_address(std::uint32_t index) {
    const auto& catches = node_->names.catches();
    return index == 0 || index > catches.size() ? std::nullopt : std::optional(catches[index - 1]);
}

std::optional<CodeLocation> LateContext::code_at(std::uint64_t /*address*/) {
    return std::nullopt;
}

std::optional<std::array<std::uint32_t, 3>> LateContext::magic_reference(
    std::uint64_t /*address*/) {
    return std::nullopt;
}

Result<BinaryInfo> LateContext::binary_at(std::uint64_t address) {
    const auto* const lines = dump_.binary(address);
    if (lines == nullptr) {
        return std::unexpected(no_binary(address));
    }
    TextCursor text(dump_.text(), lines->begin, lines->end);
    const auto size = text.take_hex();
    const bool has_bytes = size && text.take(':');
    if (text.error()) {
        return std::unexpected(*text.error());
    }
    BinaryInfo info;
    if (has_bytes) {
        const auto coding = coding_of(node_->format.base64);
        info.data_address = binary_data_address(address);
        info.size_bytes = *size;
        // Of a section that was cut short, no more is here than its text.
        info.captured_bytes = std::min(
            *size, (lines->end - text.position()) / coding.group_characters * coding.group_bytes);
    }
    return info;
}

Result<std::size_t> LateContext::binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                              std::span<std::byte> into) {
    const auto info = binary_at(binary_address);
    if (!info) {
        return std::unexpected(info.error());
    }
    if (from >= info->captured_bytes) {
        return 0;
    }
    const auto* const lines = dump_.binary(binary_address);
    TextCursor head(dump_.text(), lines->begin, lines->end);
    head.take_hex();
    head.take(':');
    const auto coding = coding_of(node_->format.base64);
    const auto first = head.position() + from / coding.group_bytes * coding.group_characters;
    const auto wanted = std::min<std::uint64_t>(into.size(), info->captured_bytes - from);
    const auto most = (wanted / coding.group_bytes + 2) * coding.group_characters;
    TextCursor text(dump_.text(), first, std::min(first + most, lines->end));
    ByteText bytes(text, node_->format.base64);
    std::array<std::uint8_t, 3> before{};
    const auto skipped = from % coding.group_bytes;
    if (bytes.read(std::span(before).first(skipped)) != skipped) {
        return 0;
    }
    const auto got = bytes.read({reinterpret_cast<std::uint8_t*>(into.data()), wanted});
    return text.error() ? Result<std::size_t>(std::unexpected(*text.error()))
                        : Result<std::size_t>(got);
}

}  // namespace beamdump::crash
