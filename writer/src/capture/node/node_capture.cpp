#include "capture/node/node_capture.h"

#include "capture/node/activity_capture.h"

#include <libdump/base/page_size.h>
#include <libdump/base/return_if_error.h>
#include <libdump/profile/sample_pages.h>
#include <libdump/write/append.h>
#include <libdump/write/record_limits.h>
#include <libvm/beam/activity/ports.h>
#include <libvm/beam/layout/runtime_names.h>
#include <libvm/beam/tables/binaries.h>
#include <libvm/beam/tables/id_table.h>
#include <libvm/target/process/clock.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <sys/utsname.h>

namespace beamdump::capture {
namespace {

/// The resident and readable parts of the literals' range. A gigabyte is reserved and little of it
/// is used; parts that the VM has freed may still be resident, but are not readable.
Result<std::vector<memory::AddressRange>> literal_parts(beam::Vm& vm, memory::AddressRange range) {
    std::vector<memory::AddressRange> parts;
    for (const auto& mapping : vm.target().mappings().all()) {
        const memory::AddressRange open{std::max(mapping.range.begin, range.begin),
                                        std::min(mapping.range.end, range.end)};
        if (!mapping.readable || open.begin >= open.end) {
            continue;
        }
        ASSIGN_OR_RETURN(auto present, vm.target().pages().present(open));
        parts.insert(parts.end(), present.begin(), present.end());
    }
    return parts;
}

}  // namespace

std::optional<std::string> LayoutDoubts::sentence(const beam::VmFacts& node,
                                                  const beam::Layout& layout) const {
    if (other_than) {
        return fmt::format(
            "ERTS {} of the node was not compared with the layout of OTP {}, which is known to "
            "hold "
            "{}: it passed the checks, but where another patch of the release moved a field that "
            "they cannot see, a value is wrong",
            node.erts_version, node.otp_release,
            other_than->first == other_than->last
                ? fmt::format("for {}", other_than->first)
                : fmt::format("from {} to {}", other_than->first, other_than->last));
    }
    if (unverified_fields.empty() && left_out.empty()) {
        return std::nullopt;
    }
    return fmt::format(
        "no layout for OTP {}: read with {}{}; {} fields unverified, and their values are marked{}",
        node.otp_release, layout.name(),
        inferred_from.empty()
            ? std::string()
            : fmt::format(", inferred from {}", fmt::join(inferred_from, " and ")),
        unverified_fields.size(),
        left_out.empty() ? std::string()
                         : fmt::format("; left out: {}", fmt::join(left_out, ", ")));
}

Result<void> NodeCapture::capture_record(const CaptureOptions& options, const LayoutDoubts& doubts,
                                         std::int64_t started_us,
                                         std::int64_t started_monotonic_ns) {
    records::Capture capture;
    capture.set_tool_version(BEAMDUMP_VERSION);
    capture.set_mode(options.mode);
    capture.set_started_us(started_us);
    capture.set_started_monotonic_ns(started_monotonic_ns);
    capture.set_os_pid(vm_.target().pid());
    capture.set_executable(vm_.target().executable());
    capture.set_executable_build_id(vm_.target().image().build_id());
    capture.set_layout_name(vm_.layout().name());
    capture.set_layout_json(vm_.layout().json());
    capture.set_layout_inferred(!doubts.inferred_from.empty());
    capture.set_layout_release(vm_.layout().release());
    for (const auto& field : doubts.unverified_fields) {
        capture.add_unverified_fields(field);
    }
    for (const auto& part : doubts.left_out) {
        capture.add_left_out(part);
    }
    for (const auto& layout : doubts.inferred_from) {
        capture.add_inferred_from(layout);
    }
    if (options.binary_bytes) {
        capture.set_binary_prefix_bytes(*options.binary_bytes);
    }
    for (const auto& found : vm_.found()) {
        auto& entry = *capture.add_found_by();
        entry.set_name(found.name);
        entry.set_address(found.address);
        entry.set_how(found.how);
    }
    if (vm_.target().state() != 0) {
        capture.set_process_state(std::string(1, vm_.target().state()));
    }
    if (!options.reason.empty()) {
        capture.set_reason(options.reason);
    }
    // A core may come from another machine and does not name it.
    utsname system{};
    if (options.mode != records::CAPTURE_MODE_CORE && uname(&system) == 0) {
        capture.set_os_release(std::string(system.sysname) + " " + system.release);
        capture.set_host_name(system.nodename);
    }
    work_ = work_counts(vm_);
    ASSIGN_OR_RETURN(auto offset, append(format::RecordKind::kCapture, capture));
    trailer_.set_capture_offset(offset);
    if (options.redactor != nullptr) {
        RETURN_IF_ERROR(append(format::RecordKind::kRedactionPolicy,
                               options.redactor->said(false, BEAMDUMP_VERSION)));
    }
    return {};
}

Result<void> NodeCapture::samples(const ProfileReport& report) {
    if (const auto boot = vm_.target().boot_us(); boot && *boot > report.began_us) {
        return fail(ErrorCode::kTargetDied,
                    fmt::format("process {} ended after its samples were taken, and another has "
                                "its id now",
                                vm_.target().pid()));
    }
    return sample_pages(report, [this](const records::Samples& page) {
        return append_noted(copier_.writer(), format::RecordKind::kSamples, page,
                            *trailer_.mutable_samples_offset());
    });
}

Result<void> NodeCapture::history(const std::filesystem::path& file) {
    const auto text = target::read_text(file);
    if (!text) {
        return fail(ErrorCode::kIo, fmt::format("cannot read the readings in {}", file.string()));
    }
    records::History history;
    if (!history.ParseFromString(*text)) {
        return fail(ErrorCode::kCorrupt,
                    fmt::format("{} is no History message of beamdump-watch", file.string()));
    }
    return append_history(copier_.writer(), std::move(history), trailer_);
}

void NodeCapture::meanwhile(std::chrono::nanoseconds stopped) {
    if (auto meanwhile = work_between(work_, work_counts(vm_), stopped)) {
        *trailer_.mutable_meanwhile() = std::move(*meanwhile);
    }
}

Result<void> NodeCapture::epoch(std::uint32_t number, records::MemorySourceKind source) {
    records::Epoch epoch;
    epoch.set_number(number);
    epoch.set_source(source);
    epoch.set_pass(1);
    epoch.set_monotonic_ns(target::clock_ns(CLOCK_MONOTONIC));
    epoch.set_wall_us(target::clock_ns(CLOCK_REALTIME) / 1000);
    ASSIGN_OR_RETURN(auto offset, append(format::RecordKind::kEpoch, epoch));
    trailer_.add_epoch_offset(offset);
    return {};
}

Result<void> NodeCapture::node(const std::vector<beam::ModuleCode>& modules) {
    const auto& facts = vm_.facts();
    ASSIGN_OR_RETURN(auto name, beam::read_node_name(vm_));
    ASSIGN_OR_RETURN(auto scheme, vm_.layout().constant(beam::runtime::constant::term_scheme));
    ASSIGN_OR_RETURN(auto processes, beam::IdTable::processes(vm_));
    ASSIGN_OR_RETURN(auto ports, beam::IdTable::ports(vm_));
    records::Node node;
    node.set_otp_release(facts.otp_release);
    node.set_erts_version(facts.erts_version);
    node.set_jit(facts.jit);
    node.set_word_size(8);
    node.set_little_endian(true);
    node.set_term_scheme(static_cast<std::uint32_t>(scheme));
    if (auto atoms = beam::AtomReader::open(vm_)) {
        name_ = atoms->text(name.atom).value_or("");
    }
    node.set_name_atom(name.atom);
    node.set_creation(name.creation);
    if (auto boot = vm_.target().boot_us()) {
        node.set_boot_us(*boot);
    }
    if (auto arguments = vm_.target().arguments()) {
        for (auto& argument : cookies_.without_cookies(std::move(*arguments))) {
            node.add_arguments(std::move(argument));
        }
    }
    node.set_process_limit(processes.slots());
    node.set_port_limit(ports.slots());
    node.set_schedulers(facts.schedulers);
    node.set_dirty_cpu_schedulers(facts.dirty_cpu_schedulers);
    node.set_dirty_io_schedulers(facts.dirty_io_schedulers);
    node.set_this_node_address(facts.this_node);
    node.set_literals_address(facts.literals_start);
    node.set_literals_bytes(facts.literals_bytes);
    node.set_non_value_word(facts.non_value);
    if (auto resident = vm_.target().resident_bytes()) {
        node.set_resident_bytes(*resident);
    }
    std::uint64_t code_bytes = 0;
    for (const auto& module : modules) {
        code_bytes += module.bytes;
    }
    node.set_code_bytes(code_bytes);
    if (work_.processes) {
        node.set_processes_started(*work_.processes);
    }
    if (!facts.otp_version.empty()) {
        node.set_otp_version(facts.otp_version);
    }
    ASSIGN_OR_RETURN(auto offset, append(format::RecordKind::kNode, node));
    trailer_.set_node_offset(offset);
    return {};
}

Result<void> NodeCapture::atoms() {
    ASSIGN_OR_RETURN(auto reader, beam::AtomReader::open(vm_));
    auto& totals = *trailer_.mutable_totals();
    for (std::uint32_t first = atoms_; first < reader.count();) {
        auto space = atom_space_;
        ASSIGN_OR_RETURN(
            auto page, reader.page(first, limits::kAtomsOfAPage, limits::kAtomTextOfAPage, &space));
        for (auto index = first; auto& text : *page.mutable_text()) {
            dictionary_keys_.note(text, index++);
            // The sums are of the texts that the dump has: others would tell the cookie's length.
            const auto bytes = text.size();
            text = cookies_.atom_without_cookies(std::move(text));
            space.replace(bytes, text.size());
            totals.set_atom_text_bytes(totals.atom_text_bytes() + text.size());
        }
        atom_space_ = space;
        RETURN_IF_ERROR(append_atoms(copier_.writer(), page, trailer_));
        first += static_cast<std::uint32_t>(page.text_size());
        atoms_ = first;
    }
    totals.set_atoms(atoms_);
    return {};
}

Result<void> NodeCapture::modules(const std::vector<beam::ModuleCode>& modules) {
    ASSIGN_OR_RETURN(auto reader, beam::ModuleReader::open(vm_));
    records::ModuleIndexPage index;
    const auto flush = [&]() -> Result<void> {
        if (index.module_size() == 0) {
            return {};
        }
        auto done = append_noted(copier_.writer(), format::RecordKind::kModuleIndexPage, index,
                                 *trailer_.mutable_module_index_offset());
        index.Clear();
        return done;
    };
    for (const auto& code : modules) {
        if (!modules_.emplace(code.header, code.instance).second) {
            continue;
        }
        RETURN_IF_ERROR(module(code, reader, index));
        if (index.module_size() >= limits::kModulesOfAPage) {
            RETURN_IF_ERROR(flush());
        }
    }
    return flush();
}

Result<void> NodeCapture::module(const beam::ModuleCode& code, beam::ModuleReader& reader,
                                 records::ModuleIndexPage& index) {
    auto record = reader.module(code);
    if (!record) {
        // A module that is being loaded or purged: its range is known, its tables are not.
        trailer_.add_warning("module tables: " + record.error().message);
        return {};
    }
    RETURN_IF_ERROR(append_module(copier_.writer(), *record, index));
    auto& totals = *trailer_.mutable_totals();
    totals.set_modules(totals.modules() + 1);
    totals.set_code_bytes(totals.code_bytes() + record->code_bytes());
    for (std::uint32_t first = 0; first < record->function_count();
         first += limits::kFunctionsOfAPage) {
        auto page = reader.functions(code, first, limits::kFunctionsOfAPage);
        if (!page) {
            trailer_.add_warning("module functions: " + page.error().message);
            return {};
        }
        RETURN_IF_ERROR(append(format::RecordKind::kFunctions, *page));
    }
    for (std::uint32_t first = 0; first < record->line_count(); first += limits::kLinesOfAPage) {
        auto page = reader.lines(code, first, limits::kLinesOfAPage);
        if (!page) {
            trailer_.add_warning("module lines: " + page.error().message);
            return {};
        }
        RETURN_IF_ERROR(append(format::RecordKind::kLines, *page));
    }
    return {};
}

Result<void> NodeCapture::exports() {
    ASSIGN_OR_RETURN(auto exports, beam::ExportReader::open(vm_));
    while (exports_ < exports.count()) {
        ASSIGN_OR_RETURN(auto page, exports.page(exports_, limits::kExportsOfAPage));
        RETURN_IF_ERROR(append_noted(copier_.writer(), format::RecordKind::kExports, page,
                                     *trailer_.mutable_exports_offset()));
        exports_ = std::min(exports_ + limits::kExportsOfAPage, exports.count());
    }
    return {};
}

Result<void> NodeCapture::tables() {
    RETURN_IF_ERROR(exports());
    auto& writer = copier_.writer();
    RETURN_IF_ERROR(tables_.write<records::FunEntries>(
        writer, format::RecordKind::kFunEntries,
        [this](const auto& take) {
            return beam::read_fun_entries(vm_, limits::kEntriesOfAPage, take);
        },
        *trailer_.mutable_fun_entries_offset()));
    RETURN_IF_ERROR(tables_.write<records::NodeEntries>(
        writer, format::RecordKind::kNodeEntries,
        TablePages::held(beam::read_node_entries(vm_, limits::kEntriesOfAPage)),
        *trailer_.mutable_node_entries_offset()));
    RETURN_IF_ERROR(tables_.write<records::Catches>(
        writer, format::RecordKind::kCatches,
        TablePages::held(beam::read_catches(vm_, limits::kFunctionsOfAPage)),
        *trailer_.mutable_catches_offset()));
    Result<std::vector<records::CodePoints>> points(std::in_place, 1, beam::code_points(vm_));
    return tables_.write<records::CodePoints>(writer, format::RecordKind::kCodePoints,
                                              TablePages::held(std::move(points)),
                                              *trailer_.mutable_code_points_offset());
}

Result<void> NodeCapture::ports() {
    auto reader = beam::PortReader::open(vm_);
    if (!reader) {
        trailer_.add_warning("ports: " + reader.error().message);
        return {};
    }
    std::optional<Error> not_written;
    const auto read =
        reader->read(limits::kEntriesOfAPage, [&](records::Ports& page) -> Result<void> {
            for (auto& port : *page.mutable_port()) {
                // The command line may contain a cookie.
                port.set_name(cookies_.atom_without_cookies(std::move(*port.mutable_name())));
            }
            auto done = append_noted(copier_.writer(), format::RecordKind::kPorts, page,
                                     *trailer_.mutable_ports_offset());
            if (!done) {
                not_written = done.error();
            }
            return done;
        });
    if (not_written) {
        return std::unexpected(std::move(*not_written));
    }
    if (!read) {
        trailer_.add_warning("ports: " + read.error().message);
    } else {
        warn_of_ports(*read, trailer_);
    }
    return {};
}

/// The pages of `parts` that changed since they were last examined.
Result<std::vector<memory::AddressRange>> NodeCapture::changed_pages(
    std::span<const memory::AddressRange> parts) {
    std::vector<memory::AddressRange> changed;
    std::vector<std::byte> bytes;
    const auto look_at = [&](memory::AddressRange page) {
        const auto here = std::span(bytes).first(page.bytes());
        const auto print = std::hash<std::string_view>()(
            {reinterpret_cast<const char*>(here.data()), here.size()});
        const auto [known, first] = literal_prints_.emplace(page.begin, print);
        if (!first && known->second == print) {
            return;
        }
        known->second = print;
        if (!changed.empty() && changed.back().end == page.begin) {
            changed.back().end = page.end;
        } else {
            changed.push_back(page);
        }
    };
    for (const auto& part : parts) {
        for (auto at = part.begin; at < part.end; at += kLeastPageBytes) {
            bytes.resize(std::min(kLeastPageBytes, part.end - at));
            RETURN_IF_ERROR(vm_.bulk().read(at, bytes));
            look_at({at, at + bytes.size()});
        }
    }
    return changed;
}

Result<void> NodeCapture::literals(BinaryStore& binaries) {
    RunWriter run(copier_, vm_, format::OwnerKind::kNode, 0);
    const auto start = vm_.facts().literals_start;
    auto parts = literal_parts(vm_, {start, start + vm_.facts().literals_bytes});
    auto changed = parts ? changed_pages(*parts) : parts;
    if (!changed) {
        return wrap("literals", changed.error());
    }
    if (changed->empty()) {
        return {};
    }
    if (trailer_.has_literals_directory_offset()) {
        run.follow(trailer_.literals_directory_offset());
    }
    for (const auto& part : *changed) {
        RETURN_IF_ERROR(run.region(format::RegionKind::kLiterals, {part.begin, part.end}));
        RETURN_IF_ERROR(beam::sweep_literal_binaries(
            vm_, part, [&](Address binary) { return binaries.add(binary); }));
    }
    RETURN_IF_ERROR(literals_directory(run));
    auto& totals = *trailer_.mutable_totals();
    totals.set_literal_words(totals.literal_words() + run.words());
    return {};
}

Result<void> NodeCapture::no_literals() {
    RunWriter run(copier_, vm_, format::OwnerKind::kNode, 0);
    const auto start = vm_.facts().literals_start;
    RETURN_IF_ERROR(
        run.left_out(format::RegionKind::kLiterals, {start, start + vm_.facts().literals_bytes}));
    return literals_directory(run);
}

Result<void> NodeCapture::literals_directory(RunWriter& run) {
    ASSIGN_OR_RETURN(const auto offset, run.finish_as_record());
    trailer_.set_literals_directory_offset(offset);
    return {};
}

}  // namespace beamdump::capture
