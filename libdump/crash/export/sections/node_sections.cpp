#include <libdump/base/return_if_error.h>
#include <libdump/base/terminal_text.h>
#include <libdump/crash/export/sections/node_sections.h>
#include <libdump/format/running_node_slogan.h>
#include <libdump/model/dump_form.h>
#include <libdump/term/atom_text.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <limits>
#include <map>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace beamdump::crash {

namespace {

/// The version of the text format that is written.
constexpr std::string_view kTextVersion = "0.5";

constexpr std::int64_t kMicroseconds = 1'000'000;

std::string time_text(fmt::format_string<std::tm> format, std::int64_t microseconds) {
    const auto seconds = static_cast<std::time_t>(microseconds / kMicroseconds);
    std::tm parts{};
    // The year of a forged dump may be out of range.
    return ::gmtime_r(&seconds, &parts) == nullptr ? std::string("at no time that is known")
                                                   : fmt::format(format, std::move(parts));
}

std::string slogan(const Dump& dump, std::string_view version) {
    const records::Capture& capture = dump.capture();
    if (is_of_crash_dump(dump)) {
        return capture.slogan();
    }
    std::string text(format::kRunningNodeSlogan);
    if (capture.has_tool_version()) {
        text += " " + capture.tool_version();
    }
    text += " dumped the running node";
    if (capture.has_os_pid()) {
        text += fmt::format(" (OS process {})", capture.os_pid());
    }
    if (capture.has_started_us()) {
        text += time_text(" at {:%Y-%m-%d %H:%M:%S} UTC", capture.started_us());
    }
    return text + fmt::format("; written as text by beamdump-analyze {}", version);
}

/// The beginning of erlang:system_info(system_version), as far as the dump has it.
std::string system_version(const records::Node& node) {
    if (node.has_system_version()) {
        return node.system_version();
    }
    std::string text = "Erlang/OTP";
    if (node.has_otp_release()) {
        text += " " + node.otp_release();
    }
    if (node.has_erts_version()) {
        text += fmt::format(" [erts-{}]", node.erts_version());
    }
    if (node.has_word_size()) {
        text += fmt::format(" [{}-bit]", 8 * node.word_size());
    }
    if (node.has_schedulers()) {
        text += fmt::format(" [smp:{}]", node.schedulers());
    }
    if (node.jit()) {
        text += " [jit]";
    }
    return text;
}

/// Sizes of a module's instances, in bytes, with their literals (break.c, code_size()).
struct ModuleSizes {
    std::uint64_t current = 0;
    std::uint64_t old = 0;
    bool has_current = false;
    bool has_old = false;
};

Result<std::map<std::uint32_t, ModuleSizes>> module_sizes(Dump& dump) {
    ASSIGN_OR_RETURN(auto instances, dump.code().instances());
    std::map<std::uint32_t, ModuleSizes> sizes;
    for (const CodeIndex::Instance& instance : *instances) {
        auto module =
            dump.reader().message_at<records::Module>(instance.offset, format::RecordKind::kModule);
        if (!module) {
            return wrap("reading a module", std::move(module.error()));
        }
        const std::uint64_t literals =
            module->literal_area_end() -
            std::min(module->literal_area_address(), module->literal_area_end());
        const std::uint64_t bytes = module->code_bytes() + literals;
        ModuleSizes& of = sizes[instance.name_atom];
        if (instance.instance == records::MODULE_INSTANCE_CURRENT) {
            of.current = bytes;
            of.has_current = true;
        } else if (instance.instance == records::MODULE_INSTANCE_OLD) {
            of.old = bytes;
            of.has_old = true;
        }
    }
    return sizes;
}

Result<void> write_binary(Dump& dump, const records::Binary& binary, TextOutput& out) {
    constexpr std::size_t kBlock = std::size_t{3} << 14U;
    std::vector<std::uint8_t> block(kBlock);
    out.put("=binary:");
    out.hex(binary.address());
    out.put('\n');
    out.hex(binary.size_bytes());
    out.put(':');
    Base64 base64(out);
    const std::uint64_t here = captured_bytes(binary);
    for (std::uint64_t at = 0; at < here && out.ok();) {
        auto got = dump.binaries().bytes(binary, at, std::as_writable_bytes(std::span(block)));
        if (!got) {
            return wrap("reading a binary", std::move(got.error()));
        }
        if (*got == 0) {
            break;
        }
        base64.add(std::span(block).first(*got));
        at += *got;
    }
    base64.finish();
    out.put('\n');
    return {};
}

constexpr std::string_view kDumpHead = "erl_crash_dump";

/// Whether sections with that tag are made from records.
bool is_of_records(std::string_view tag) {
    return tag.starts_with("proc") || tag == "binary" || tag == "literals" || tag == "end" ||
           tag == kDumpHead;
}

class Writer {
  public:
    explicit Writer(TextOutput& out) : out_(out) {}

    void section(const records::CrashSection& section, bool first) {
        const bool is_head = first && section.tag() == kDumpHead && !section.continues();
        if (!section.continues()) {
            shown_ = is_head || !is_of_records(section.tag());
        }
        if (!shown_) {
            return;
        }
        if (is_head) {
            title(kDumpHead, kTextVersion);
        } else if (!section.continues()) {
            title(section.tag(), section.argument());
        }
        lines(section.lines());
    }

    /// A new line begins here.
    void end() {
        if (!at_line_start_) {
            out_.put('\n');
            at_line_start_ = true;
        }
    }

  private:
    void title(std::string_view tag, std::string_view argument) {
        end();
        out_.put('=');
        out_.put(first_line(tag));
        if (!argument.empty()) {
            out_.put(':');
            out_.put(first_line(argument));
        }
        out_.put('\n');
    }

    static std::string_view first_line(std::string_view text) {
        return text.substr(0, text.find_first_of("\r\n"));
    }

    void lines(std::string_view text) {
        while (!text.empty()) {
            if (at_line_start_ && text.front() == '=') {
                out_.put(' ');
            }
            const auto end = text.find('\n');
            const auto line = text.substr(0, end == std::string_view::npos ? end : end + 1);
            out_.put(line);
            at_line_start_ = line.ends_with('\n');
            text.remove_prefix(line.size());
        }
    }

    TextOutput& out_;
    bool at_line_start_ = true;
    bool shown_ = false;
};

}  // namespace

void write_head(Dump& dump, std::string_view version, TextOutput& out) {
    out.put(fmt::format("=erl_crash_dump:{}\n", kTextVersion));
    out.put(is_of_crash_dump(dump)
                ? one_line(dump.capture().crash_date())
                : time_text("{:%a %b %e %H:%M:%S %Y}", dump.capture().started_us()));
    out.put('\n');
    out.put(fmt::format("Slogan: {}\nSystem version: {}\n", one_line(slogan(dump, version)),
                        one_line(system_version(dump.node()))));
    if (const records::Totals& totals = dump.trailer().totals(); totals.has_atoms()) {
        out.put(fmt::format("Atoms: {}\n", totals.atoms()));
    }
}

void write_memory(Dump& dump, TextOutput& out) {
    const records::Totals& totals = dump.trailer().totals();
    const records::Node& node = dump.node();
    const auto line = [&out](std::string_view name, bool known, std::uint64_t bytes) {
        if (known) {
            out.put(fmt::format("{}: {}\n", name, bytes));
        }
    };
    out.put("=memory\n");
    line("processes_used", totals.has_process_memory_bytes(), totals.process_memory_bytes());
    line("atom_used", totals.has_atom_text_bytes(), totals.atom_text_bytes());
    line("binary", totals.has_binary_bytes(), totals.binary_bytes());
    line("code", node.has_code_bytes(), node.code_bytes());
}

void write_distribution(Dump& dump, TermExport& terms) {
    if (!dump.node().has_name_atom()) {
        return;
    }
    terms.out().put("=node:");
    terms.atom(dump.node().name_atom());
    terms.out().put('\n');
    if (dump.atoms().text(dump.node().name_atom()) == "nonode@nohost") {
        terms.out().put("=no_distribution\n");
    }
}

Result<void> write_modules(Dump& dump, TermExport& terms) {
    ASSIGN_OR_RETURN(const auto sizes, module_sizes(dump));
    TextOutput& out = terms.out();
    std::uint64_t current = 0;
    std::uint64_t old = 0;
    for (const ModuleSizes& of : std::views::values(sizes)) {
        current += of.current;
        old += of.old;
    }
    out.put(fmt::format("=loaded_modules\nCurrent code: {}\nOld code: {}\n", current, old));
    for (const auto& [name, of] : sizes) {
        out.put("=mod:");
        terms.atom(name);
        out.put('\n');
        if (of.has_current) {
            out.put(fmt::format("Current size: {}\n", of.current));
        }
        if (of.has_old) {
            out.put(fmt::format("Old size: {}\n", of.old));
        }
    }
    return {};
}

Result<void> write_funs(Dump& dump, TermExport& terms) {
    TextOutput& out = terms.out();
    for (const std::uint64_t offset : dump.trailer().fun_entries_offset()) {
        auto page =
            dump.reader().message_at<records::FunEntries>(offset, format::RecordKind::kFunEntries);
        if (!page) {
            return wrap("reading the fun table", std::move(page.error()));
        }
        for (const auto& entry : page->entry()) {
            out.put("=fun\nModule: ");
            terms.atom(entry.module_atom());
            out.put(fmt::format("\nUniq: {}\nIndex: {}\n", entry.old_uniq(),
                                entry.has_old_index() ? entry.old_index() : entry.index()));
            if (entry.has_code_address()) {
                out.put("Address: ");
                out.pointer(entry.code_address());
                out.put('\n');
            }
            if (entry.has_references()) {
                out.put(fmt::format("Refc: {}\n", entry.references()));
            }
        }
    }
    return {};
}

Result<void> write_atoms(Dump& dump, TextOutput& out) {
    out.put("=atoms\n");
    const auto& pages = dump.trailer().atoms();
    std::vector<records::AtomPageRef> refs(pages.begin(), pages.end());
    std::ranges::sort(refs, {}, &records::AtomPageRef::first_index);
    for (const auto& ref : std::views::reverse(refs)) {
        auto page =
            dump.reader().message_at<records::Atoms>(ref.offset(), format::RecordKind::kAtoms);
        if (!page) {
            return wrap("reading the atom table", std::move(page.error()));
        }
        for (int i = page->text_size(); i-- > 0;) {
            out.put(quoted_atom(page->text(i)));
            out.put('\n');
        }
    }
    return {};
}

Result<std::uint64_t> write_binaries(Dump& dump, TextOutput& out) {
    std::uint64_t partial = 0;
    auto record = dump.reader().first();
    while (record && *record && out.ok()) {
        const RecordView view = **record;
        if (view.kind == format::RecordKind::kBinaries) {
            auto pack = DumpReader::parse<records::Binaries>(view, format::RecordKind::kBinaries);
            if (!pack) {
                return wrap("reading binaries", std::move(pack.error()));
            }
            for (const auto& binary : pack->binary()) {
                RETURN_IF_ERROR(write_binary(dump, binary, out));
                partial += !binary.magic() && captured_bytes(binary) < binary.size_bytes() ? 1 : 0;
            }
        }
        record = dump.reader().next(view);
    }
    if (!record) {
        return wrap("looking for binaries", std::move(record.error()));
    }
    return partial;
}

bool has_kept_sections(const Dump& dump) {
    return dump.trailer().crash_sections_offset_size() != 0;
}

Result<void> write_kept_sections(Dump& dump, TextOutput& out) {
    Writer writer(out);
    bool first = true;
    for (const std::uint64_t offset : dump.trailer().crash_sections_offset()) {
        auto page = dump.reader().message_at<records::CrashSections>(
            offset, format::RecordKind::kCrashSections);
        if (!page) {
            return wrap("reading sections", std::move(page.error()));
        }
        for (const auto& section : page->section()) {
            if (first && section.tag() != kDumpHead) {
                write_head(dump, "", out);
            }
            writer.section(section, first);
            first = false;
        }
    }
    writer.end();
    return {};
}

}  // namespace beamdump::crash
