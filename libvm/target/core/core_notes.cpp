#include <libvm/target/core/core_notes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <string_view>
#include <sys/procfs.h>
#include <sys/user.h>

namespace beamdump::target {
namespace {

/// A value at an offset that is known to be inside; notes are aligned to 4 bytes only.
template <typename T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::unexpected<Error> too_short(std::string_view note, std::size_t bytes, std::size_t expected) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("the core's note {} has {} bytes, expected {}", note, bytes, expected));
}

std::string text_of(std::span<const char> field) {
    return {field.begin(), std::ranges::find(field, '\0')};
}

Result<void> take_thread(std::span<const std::byte> contents, CoreNotes& notes) {
    if (contents.size() < sizeof(elf_prstatus)) {
        return too_short("NT_PRSTATUS", contents.size(), sizeof(elf_prstatus));
    }
    const auto status = value_at<elf_prstatus>(contents, 0);
    user_regs_struct registers{};
    static_assert(sizeof registers == sizeof status.pr_reg);
    std::memcpy(&registers, &status.pr_reg, sizeof registers);
    notes.threads.push_back(thread_registers(status.pr_pid, registers));
    return {};
}

Result<void> take_process(std::span<const std::byte> contents, CoreNotes& notes) {
    if (contents.size() < sizeof(elf_prpsinfo)) {
        return too_short("NT_PRPSINFO", contents.size(), sizeof(elf_prpsinfo));
    }
    const auto info = value_at<elf_prpsinfo>(contents, 0);
    notes.process = {info.pr_pid, text_of(info.pr_fname), text_of(info.pr_psargs)};
    notes.has_process = true;
    return {};
}

void take_auxiliary(std::span<const std::byte> contents, CoreNotes& notes) {
    for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= contents.size();
         at += sizeof(Elf64_auxv_t)) {
        const auto entry = value_at<Elf64_auxv_t>(contents, at);
        if (entry.a_type == AT_NULL) {
            return;
        }
        notes.auxiliary.push_back({entry.a_type, entry.a_un.a_val});
    }
}

/// Count, page size, then begin, end and offset (in pages of that size) of each mapping, then
/// their paths one after another (fill_files_note of Linux' fs/binfmt_elf.c).
Result<void> take_files(std::span<const std::byte> contents, CoreNotes& notes) {
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    constexpr std::size_t kEntry = 3 * kWord;
    if (contents.size() < 2 * kWord) {
        return too_short("NT_FILE", contents.size(), 2 * kWord);
    }
    const auto count = value_at<std::uint64_t>(contents, 0);
    const auto page = value_at<std::uint64_t>(contents, kWord);
    const auto room = (contents.size() - 2 * kWord) / kEntry;
    if (count > room) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("the core's note NT_FILE claims {} mappings, but has room for {}",
                                count, room));
    }
    const auto names = contents.subspan(2 * kWord + count * kEntry);
    std::string_view rest(reinterpret_cast<const char*>(names.data()), names.size());
    for (std::size_t index = 0; index < count; ++index) {
        const auto at = 2 * kWord + index * kEntry;
        CoreMappedFile file;
        file.range = {value_at<std::uint64_t>(contents, at),
                      value_at<std::uint64_t>(contents, at + kWord)};
        const auto pages = value_at<std::uint64_t>(contents, at + 2 * kWord);
        const auto end = rest.find('\0');
        if (end == std::string_view::npos || file.range.begin >= file.range.end ||
            __builtin_mul_overflow(pages, page, &file.file_offset)) {
            return fail(ErrorCode::kCorrupt,
                        fmt::format("impossible mapping {} of {} in the core's note NT_FILE: "
                                    "{:#x}-{:#x}, offset {} times {}",
                                    index, count, file.range.begin, file.range.end, pages, page));
        }
        file.path = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        notes.files.push_back(std::move(file));
    }
    notes.has_files = true;
    return {};
}

}  // namespace

Result<void> take_core_note(std::uint32_t type, std::span<const std::byte> contents,
                            CoreNotes& notes) {
    switch (type) {
        case NT_PRSTATUS:
            return take_thread(contents, notes);
        case NT_PRPSINFO:
            return notes.has_process ? Result<void>() : take_process(contents, notes);
        case NT_FILE:
            return notes.has_files ? Result<void>() : take_files(contents, notes);
        case NT_AUXV:
            if (notes.auxiliary.empty()) {
                take_auxiliary(contents, notes);
            }
            return {};
        default:
            return {};
    }
}

}  // namespace beamdump::target
