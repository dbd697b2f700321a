#include <libdump/base/return_if_error.h>
#include <libdump/crash/import/heap/binary_text.h>
#include <libdump/crash/import/heap/lazy_context.h>
#include <libdump/crash/text/byte_parser.h>

#include <fmt/format.h>

#include <algorithm>

namespace beamdump::crash {
namespace {

constexpr std::size_t kMaxBinaries = 4096;

}  // namespace

void LazyContext::missed(std::uint64_t address) {
    if (heap_) {
        heap_->missed(address);
    }
}

Result<void> LazyContext::read_rest() {
    return heap_ ? heap_->read_rest() : Result<void>();
}

Result<std::size_t> LazyContext::words(std::uint64_t address, std::span<std::uint64_t> into) {
    return heap_ ? heap_->words(address, into)
                 : fail(ErrorCode::kUnmapped, "the process has no heap in the crash dump");
}

std::uint64_t LazyContext::region_bytes_bound() const {
    return heap_ ? heap_->most_words() * WordImage::kWordBytes : 0;
}

AtomText LazyContext::atom(std::uint32_t index) {
    const auto& atoms = node_->names.atoms();
    const auto found = atoms.find(index);
    return found == atoms.end() ? AtomText() : AtomText(found->second);
}

std::optional<FunctionName> LazyContext::export_at(std::uint64_t address) {
    const auto* const found = node_->names.export_at(address);
    return found == nullptr ? std::nullopt
                            : std::optional(FunctionName{found->module_atom, found->function_atom,
                                                         found->arity});
}

std::optional<FunInfo> LazyContext::fun_entry_at(std::uint64_t address) {
    const auto* const found = node_->names.fun_at(address);
    return found == nullptr ? std::nullopt
                            : std::optional(FunInfo{found->module_atom, found->index, found->uniq,
                                                    found->arity});
}

std::optional<NodeInfo> LazyContext::node_at(std::uint64_t address) {
    const auto* const found = node_->names.node_at(address);
    return found == nullptr
               ? std::nullopt
               : std::optional(NodeInfo{found->name_atom, found->creation,
                                        atom(found->name_atom) == node_->format.node_name});
}

std::optional<std::uint64_t> LazyContext::catch_address(std::uint32_t index) {
    const auto& catches = node_->names.catches();
    return index == 0 || index > catches.size() ? std::nullopt : std::optional(catches[index - 1]);
}

std::optional<CodeLocation> LazyContext::code_at(std::uint64_t /*address*/) {
    return std::nullopt;
}

std::optional<std::array<std::uint32_t, 3>> LazyContext::magic_reference(
    std::uint64_t /*address*/) {
    return std::nullopt;
}

Result<LazyContext::FoundBinary> LazyContext::find_binary(std::uint64_t address) {
    if (const auto known = binaries_.find(address); known != binaries_.end()) {
        return known->second;
    }
    const auto* const lines = dump_.binary(address);
    if (lines == nullptr) {
        return fail(ErrorCode::kAbsent,
                    fmt::format("the crash dump has no binary at {:#x}", address));
    }
    ASSIGN_OR_RETURN(const auto text, find_binary_text(dump_.text(), *lines));
    FoundBinary found;
    if (text) {
        found.characters = text->characters;
        found.info.data_address = binary_data_address(address);
        found.info.size_bytes = text->size_bytes;
        ASSIGN_OR_RETURN(found.info.captured_bytes,
                         bytes_in_text(dump_.text(), *text, node_->format.base64));
    }
    if (binaries_.size() == kMaxBinaries) {
        binaries_.clear();
    }
    return binaries_.emplace(address, found).first->second;
}

Result<BinaryInfo> LazyContext::binary_at(std::uint64_t address) {
    const auto text = find_binary(address);
    return text ? Result<BinaryInfo>(text->info) : std::unexpected(text.error());
}

Result<std::size_t> LazyContext::binary_bytes(std::uint64_t binary_address, std::uint64_t from,
                                              std::span<std::byte> into) {
    ASSIGN_OR_RETURN(const auto binary, find_binary(binary_address));
    if (from >= binary.info.captured_bytes) {
        return 0;
    }
    const auto group = ByteParser::group(node_->format.base64);
    const auto first = binary.characters.begin + from / group.bytes * group.characters;
    const auto wanted = std::min<std::uint64_t>(into.size(), binary.info.captured_bytes - from);
    const auto most = (wanted / group.bytes + 2) * group.characters;
    TextCursor text(dump_.text(), first, std::min(first + most, binary.characters.end));
    ByteParser bytes(text, node_->format.base64);
    std::array<std::uint8_t, 3> before{};
    const auto skipped = from % group.bytes;
    if (bytes.read(std::span(before).first(skipped)) != skipped) {
        return 0;
    }
    const auto got = bytes.read({reinterpret_cast<std::uint8_t*>(into.data()), wanted});
    return text.error() ? Result<std::size_t>(std::unexpected(*text.error()))
                        : Result<std::size_t>(got);
}

}  // namespace beamdump::crash
