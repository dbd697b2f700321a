#include "beam/vm.h"

#include "beam/struct_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <builtin_layouts.h>

namespace beamdump::beam {
namespace {

/// Small blocks: many chains have one member on each process's heap, and the rest of the block
/// would be read for nothing. 4 MiB in all.
constexpr std::size_t kCacheBlockBytes = 16U << 10U;
constexpr std::size_t kCacheBlocks = 256;

Result<std::string> symbol_text(target::Target& target, std::string_view name) {
    const auto symbol = target.image().symbol(name);
    if (!symbol) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("{} has no symbol {}: releases that hide the VM's symbols "
                                "(OTP 29 on) are not supported",
                                target.executable(), name));
    }
    std::string text(std::min<std::uint64_t>(symbol->size, 64), '\0');
    if (auto done = target.memory().read(symbol->address, std::as_writable_bytes(std::span(text)));
        !done) {
        return wrap(fmt::format("reading {}", name), done.error());
    }
    text.resize(std::min(text.find('\0'), text.size()));
    return text;
}

Result<Layout> choose_layout(const std::string& release, const LocateOptions& options) {
    if (options.layout) {
        return *options.layout;
    }
    if (options.layout_json) {
        return Layout::parse(*options.layout_json);
    }
    std::string known;
    for (const auto& builtin : builtin_layouts()) {
        auto layout = Layout::parse(builtin.json);
        if (!layout) {
            return std::unexpected(layout.error());
        }
        if (layout->release() == release) {
            return layout;
        }
        known += fmt::format("{}{}", known.empty() ? "" : ", ", layout->release());
    }
    return fail(ErrorCode::kUnsupported,
                fmt::format("the node runs OTP {}, for which there is no layout (known: {}); "
                            "--layout FILE gives one",
                            release, known));
}

/// Shared code that a stack may return to (beam_jit_main.cpp, OTP 25): each of these globals holds
/// the address of one piece.
constexpr std::array kCodePointNames = {
    "beam_normal_exit",     "beam_exit",         "beam_continue_exit",   "beam_run_process",
    "beam_return_to_trace", "beam_return_trace", "beam_exception_trace", "beam_return_time_trace",
    "beam_save_calls",      "beam_unloaded_fun", "beam_bif_export_trap", "beam_export_trampoline"};

}  // namespace

Result<std::string> otp_release_of(target::Target& target) {
    return symbol_text(target, "etp_otp_release");
}

Vm::Vm(std::unique_ptr<target::Target> target, Layout layout)
    : target_(std::move(target)),
      layout_(std::move(layout)),
      cache_(target_->memory(), &target_->pages(), kCacheBlockBytes, kCacheBlocks),
      memory_(cache_, prefetched_),
      bulk_(target_->memory(), prefetched_) {}

void Vm::forget() {
    prefetched_.drop();
    cache_.invalidate();
}

Result<std::unique_ptr<Vm>> Vm::locate(std::unique_ptr<target::Target> target,
                                       const LocateOptions& options) {
    auto release = otp_release_of(*target);
    if (!release) {
        return std::unexpected(release.error());
    }
    auto layout = choose_layout(*release, options);
    if (!layout) {
        return std::unexpected(layout.error());
    }
    std::unique_ptr<Vm> vm(new Vm(std::move(target), std::move(*layout)));
    vm->facts_.otp_release = *release;
    if (auto done = vm->read_facts(); !done) {
        return std::unexpected(done.error());
    }
    auto search = ImageSearch::read(*vm->target_);
    if (!search) {
        return std::unexpected(search.error());
    }
    if (auto done = vm->find_tables(*search); !done) {
        return std::unexpected(done.error());
    }
    return vm;
}

Result<void> Vm::refresh() {
    forget();
    if (auto done = target_->refresh_mappings(); !done) {
        return done;
    }
    auto active = symbol_value<std::uint32_t>("the_active_code_index");
    if (!active || *active >= kCodeIndexes) {
        return fail(
            ErrorCode::kImplausible,
            fmt::format("the_active_code_index: expected 0 to 2, {}",
                        active ? fmt::format("found {}", *active) : active.error().message));
    }
    facts_.active_code_index = *active;
    return {};
}

bool Vm::plausible(Address address, std::uint64_t bytes) const {
    return address != 0 && address % 8 == 0 && address < address + bytes &&
           target_->mappings().readable({address, address + bytes});
}

Result<Address> Vm::symbol(std::string_view name) {
    const auto found = target_->image().symbol(name);
    if (!found) {
        return fail(
            ErrorCode::kUnsupported,
            fmt::format("{} has no symbol {} in .symtab or .dynsym", target_->executable(), name));
    }
    if (std::ranges::none_of(found_, [&](const Found& known) { return known.name == name; })) {
        found_.push_back({std::string(name), found->address, std::string(found->table)});
    }
    return found->address;
}

template <typename T>
Result<T> Vm::symbol_value(std::string_view name) {
    auto address = symbol(name);
    if (!address) {
        return std::unexpected(address.error());
    }
    auto value = target_->memory().value<T>(*address);
    if (!value) {
        return wrap(fmt::format("reading {}", name), value.error());
    }
    return value;
}

Result<void> Vm::read_facts() {
    auto version = symbol_text(*target_, "etp_erts_version");
    auto jit = symbol_value<std::int32_t>("etp_beamasm");
    auto bits = symbol_value<std::int32_t>("etp_arch_bits");
    auto non_value = symbol_value<std::uint64_t>("etp_the_non_value");
    auto active = symbol_value<std::uint32_t>("the_active_code_index");
    auto this_node = symbol_value<std::uint64_t>("erts_this_node");
    auto literals = symbol_value<std::uint64_t>("erts_literals_start");
    auto literals_bytes = symbol_value<std::uint64_t>("erts_literals_size");
    for (const auto* failed :
         {version ? nullptr : &version.error(), jit ? nullptr : &jit.error(),
          bits ? nullptr : &bits.error(), non_value ? nullptr : &non_value.error(),
          active ? nullptr : &active.error(), this_node ? nullptr : &this_node.error(),
          literals ? nullptr : &literals.error(),
          literals_bytes ? nullptr : &literals_bytes.error()}) {
        if (failed != nullptr) {
            return std::unexpected(*failed);
        }
    }
    if (*bits != 64) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("a {}-bit VM: only 64-bit ones are supported", *bits));
    }
    facts_.erts_version = *version;
    facts_.jit = *jit != 0;
    facts_.non_value = *non_value;
    facts_.active_code_index = *active;
    facts_.this_node = *this_node;
    facts_.literals_start = *literals;
    facts_.literals_bytes = *literals_bytes;
    const auto count = [&](std::string_view name) {
        const auto value = symbol_value<std::uint64_t>(name);
        return value ? static_cast<std::uint32_t>(*value) : 0U;
    };
    facts_.schedulers = count("erts_no_schedulers");
    facts_.dirty_cpu_schedulers = count("erts_no_dirty_cpu_schedulers");
    facts_.dirty_io_schedulers = count("erts_no_dirty_io_schedulers");
    return {};
}

Result<void> Vm::find_tables(const ImageSearch& search) {
    auto processes = symbol("erts_proc");
    auto ports = symbol("erts_port");
    auto atoms = symbol("erts_atom_table");
    auto nodes = symbol("erts_node_table");
    auto modules = find_index_tables(search, "module_tables", "module_code");
    auto exports = find_index_tables(search, "export_tables", "export_list");
    auto funs = find_hash(search, "erts_fun_table", "fun_table");
    auto registered = find_hash(search, "process_reg", "process_reg");
    auto catches = find_catch_pools(search);
    for (const auto* result :
         {&processes, &ports, &atoms, &nodes, &modules, &exports, &funs, &registered, &catches}) {
        if (!*result) {
            return std::unexpected(result->error());
        }
    }
    tables_ = {*processes, *atoms,      *modules, *exports, *funs,
               *nodes,     *registered, *ports,   *catches, {}};
    for (const auto* name : kCodePointNames) {
        const auto address = symbol_value<std::uint64_t>(name);
        if (address && *address != 0) {
            tables_.code_points.push_back({name, *address, found_.back().how});
        }
    }
    return {};
}

}  // namespace beamdump::beam
