#include <libdump/base/return_if_error.h>
#include <libvm/arch/aarch64/dwarf.h>
#include <libvm/arch/aarch64/frame_records.h>
#include <libvm/arch/x86_64/dwarf.h>
#include <libvm/target/image/debug_file.h>
#include <libvm/target/unwind/function_starts.h>
#include <libvm/target/unwind/native_frames.h>

#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <filesystem>
#include <map>

namespace beamdump::target {

struct DwflEnd {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

/// What libdw's callbacks are given during one unwinding.
struct Unwinding {
    Architecture architecture = Architecture::kX86_64;
    const ThreadStack* stack = nullptr;
    const std::function<bool(Address)>* is_jit = nullptr;
    NativeStack found{};
};

namespace {

constexpr std::size_t kMostNativeFrames = 128;
constexpr std::size_t kMostNames = 65536;
struct FreeText {
    void operator()(char* text) const { std::free(text); }
};

pid_t next_thread(Dwfl* /*dwfl*/, void* argument, void** thread_argument) {
    // Called with a null pointer first: there is one thread.
    if (*thread_argument != nullptr) {
        return 0;
    }
    *thread_argument = argument;
    return static_cast<const Unwinding*>(argument)->stack->thread;
}

bool get_thread(Dwfl* /*dwfl*/, pid_t /*thread*/, void* argument, void** thread_argument) {
    *thread_argument = argument;
    return true;
}

bool read_stack(Dwfl* /*dwfl*/, Dwarf_Addr address, Dwarf_Word* result, void* argument) {
    const auto& stack = *static_cast<const Unwinding*>(argument)->stack;
    const auto top = stack.stack_pointer;
    if (address < top || stack.bytes.size() < sizeof(*result) ||
        address - top > stack.bytes.size() - sizeof(*result)) {
        return false;
    }
    std::memcpy(result, stack.bytes.data() + (address - top), sizeof(*result));
    return true;
}

bool set_registers(Dwfl_Thread* thread, void* argument) {
    const auto& stack = *static_cast<const Unwinding*>(argument)->stack;
    const auto& registers = stack.registers;
    for (std::size_t at = 0; at < registers.size(); ++at) {
        if (!registers.at(at)) {
            continue;
        }
        const Dwarf_Word value = *registers.at(at);
        if (!dwfl_thread_state_registers(thread, static_cast<int>(at), 1, &value)) {
            return false;
        }
    }
    // What returns to where is in another register there.
    if (static_cast<const Unwinding*>(argument)->architecture == Architecture::kAarch64) {
        dwfl_thread_state_register_pc(thread, stack.instruction);
    }
    return true;
}

constexpr Dwfl_Thread_Callbacks kThreadCallbacks = {
    .next_thread = next_thread,
    .get_thread = get_thread,
    .memory_read = read_stack,
    .set_initial_registers = set_registers,
    .detach = nullptr,
    .thread_detach = nullptr,
};

template <typename Register>
std::optional<std::uint64_t> register_of(Dwfl_Frame* frame, Register name) {
    Dwarf_Word value = 0;
    return dwfl_frame_reg(frame, static_cast<unsigned>(name), &value) == 0 ? std::optional(value)
                                                                           : std::nullopt;
}

/// Nothing if its registers are not known.
std::optional<JitCaller> caller_on_aarch64(Dwfl_Frame* frame, Address returns_to) {
    using enum arch::aarch64::DwarfRegister;
    const auto process = register_of(frame, kProcess);
    const auto stack_top = register_of(frame, kStackTop);
    if (!process || !stack_top) {
        return std::nullopt;
    }
    return JitCaller{.returns_to = returns_to,
                     .process = *process,
                     .stack_top = *stack_top,
                     .heap_top = register_of(frame, kHeapTop).value_or(0),
                     .reductions_left = register_of(frame, kReductionsLeft)};
}

std::optional<JitCaller> caller_on_x86_64(Dwfl_Frame* frame, Address returns_to) {
    using enum arch::x86_64::DwarfRegister;
    const auto process = register_of(frame, kR13);
    const auto rbp = register_of(frame, kRbp);
    const auto r12 = register_of(frame, kR12);
    if (!process || !rbp || !r12) {
        return std::nullopt;
    }
    return JitCaller{returns_to,
                     *process,
                     *rbp,
                     *r12,
                     register_of(frame, kR15).value_or(0),
                     register_of(frame, kR14)};
}

int take_frame(Dwfl_Frame* frame, void* argument) {
    auto& unwinding = *static_cast<Unwinding*>(argument);
    auto& found = unwinding.found;
    Dwarf_Addr place = 0;
    bool interrupted = false;
    if (!dwfl_frame_pc(frame, &place, &interrupted) || found.places.size() == kMostNativeFrames) {
        return DWARF_CB_ABORT;
    }
    if (unwinding.architecture == Architecture::kAarch64) {
        place = arch::aarch64::without_signature(place);
    }
    if ((*unwinding.is_jit)(place)) {
        found.leads_to = place;
        found.caller = unwinding.architecture == Architecture::kAarch64
                           ? caller_on_aarch64(frame, place)
                           : caller_on_x86_64(frame, place);
        return DWARF_CB_ABORT;
    }
    // Minus one: a call may be the last instruction of its function.
    found.places.push_back(interrupted || found.places.empty() ? place : place - 1);
    return DWARF_CB_OK;
}

/// Lower case hex; empty: it has none.
std::string build_id_text(Dwfl_Module* module) {
    const unsigned char* id = nullptr;
    GElf_Addr address = 0;
    const int bytes = dwfl_module_build_id(module, &id, &address);
    std::string text;
    for (int at = 0; at < bytes; ++at) {
        text += fmt::format("{:02x}", id[at]);
    }
    return text;
}

/// Where debug files of a node are: its root, and the user's folder or nothing.
using DebugFolders = std::pair<std::filesystem::path, std::filesystem::path>;

/// A module's debug file by its build id. `userdata`: a DebugFolders.
int find_debug_file(Dwfl_Module* module, void** userdata, const char* /*name*/, Dwarf_Addr /*base*/,
                    const char* /*file*/, const char* /*link*/, GElf_Word /*checksum*/,
                    char** /*found*/) {
    const auto text = build_id_text(module);
    if (text.empty() || *userdata == nullptr) {
        return -1;
    }
    const auto& folders = *static_cast<const DebugFolders*>(*userdata);
    for (const auto& file : debug_file_paths(text, folders.first, folders.second)) {
        std::error_code error;
        // What is at such a path may be anything: only a file is opened. libdw closes it.
        if (std::filesystem::is_regular_file(file, error)) {
            return ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
        }
    }
    return -1;
}

constexpr Dwfl_Callbacks kFileCallbacks = {
    .find_elf = nullptr,
    .find_debuginfo = find_debug_file,
    .section_address = nullptr,
    .debuginfo_path = nullptr,
};

std::string readable(const char* name) {
    int status = 0;
    const std::unique_ptr<char, FreeText> plain(
        abi::__cxa_demangle(name, nullptr, nullptr, &status));
    return status == 0 && plain ? std::string(plain.get()) : std::string(name);
}

std::optional<Address> begin_of_function(Dwfl_Module* module, Address address) {
    GElf_Addr bias = 0;
    auto* elf = dwfl_module_getelf(module, &bias);
    std::size_t count = 0;
    if (elf == nullptr || elf_getphdrnum(elf, &count) != 0) {
        return std::nullopt;
    }
    for (std::size_t at = 0; at < count; ++at) {
        GElf_Phdr part{};
        if (gelf_getphdr(elf, static_cast<int>(at), &part) == nullptr ||
            part.p_type != PT_GNU_EH_FRAME) {
            continue;
        }
        const auto* data = elf_getdata_rawchunk(elf, static_cast<std::int64_t>(part.p_offset),
                                                part.p_filesz, ELF_T_BYTE);
        if (data != nullptr && data->d_buf != nullptr) {
            return function_start({static_cast<const std::byte*>(data->d_buf), data->d_size},
                                  bias + part.p_vaddr, address);
        }
    }
    return std::nullopt;
}

/// "beam.smp+0x1234"
std::string place_in_file(Dwfl_Module* module, Address address) {
    Dwarf_Addr begin = 0;
    const char* path =
        dwfl_module_info(module, nullptr, &begin, nullptr, nullptr, nullptr, nullptr, nullptr);
    return fmt::format("{}+{:#x}", std::filesystem::path(path).filename().native(),
                       address - begin);
}

}  // namespace

ThreadStack stack_of(Architecture architecture, const ThreadRegisters& thread,
                     std::span<const std::byte> bytes) {
    using enum arch::x86_64::DwarfRegister;
    // As `general()` has them; those of aarch64 are in DWARF's order.
    static constexpr std::array kOrder = {kRax, kRbx, kRcx, kRdx, kRsi, kRdi, kRbp, kRsp,
                                          kR8,  kR9,  kR10, kR11, kR12, kR13, kR14, kR15};
    const bool is_x86_64 = architecture == Architecture::kX86_64;
    ThreadStack found{.thread = thread.thread,
                      .instruction = thread.instruction,
                      .stack_pointer = thread.stack_pointer,
                      .bytes = bytes};
    const auto count = is_x86_64 ? kOrder.size() : found.registers.size();
    for (std::size_t at = 0; at < std::min(count, thread.general_count); ++at) {
        found.registers.at(is_x86_64 ? static_cast<std::size_t>(kOrder.at(at)) : at) =
            thread.general()[at];
    }
    if (is_x86_64) {
        found.registers.at(static_cast<std::size_t>(kRip)) = thread.instruction;
    }
    return found;
}

struct NativeFrames::Session {
    Target* target = nullptr;
    DebugFolders folders;
    std::unique_ptr<Dwfl, DwflEnd> dwfl;
    Unwinding unwinding;

    /// Reports each file that is mapped, where its first byte is.
    Result<void> report() {
        std::map<std::string, const Mapping*> files;  // the lowest mapping of each
        std::map<std::string, bool> has_code;
        for (const auto& mapping : target->mappings().all()) {
            if (!mapping.path.starts_with('/')) {
                continue;
            }
            const auto [known, is_new] = files.emplace(mapping.path, &mapping);
            if (mapping.range.begin < known->second->range.begin) {
                known->second = &mapping;
            }
            has_code[mapping.path] = has_code[mapping.path] || mapping.executable;
        }
        dwfl.reset(dwfl_begin(&kFileCallbacks));
        if (!dwfl) {
            return refused("its files");
        }
        dwfl_report_begin(dwfl.get());
        for (const auto& [path, mapping] : files) {
            const auto file = has_code[path] ? target->file_of(*mapping) : std::string();
            // A file that was deleted or replaced, and cannot be opened, is left out.
            auto* module = file.empty() ? nullptr
                                        : dwfl_report_elf(dwfl.get(), path.c_str(), file.c_str(),
                                                          -1, mapping->range.begin, false);
            void** userdata = nullptr;
            if (module != nullptr &&
                dwfl_module_info(module, &userdata, nullptr, nullptr, nullptr, nullptr, nullptr,
                                 nullptr) != nullptr &&
                userdata != nullptr) {
                *userdata = &folders;
            }
        }
        if (dwfl_report_end(dwfl.get(), nullptr, nullptr) != 0 ||
            !dwfl_attach_state(dwfl.get(), nullptr, target->pid(), &kThreadCallbacks, &unwinding)) {
            return refused("its files");
        }
        return {};
    }

    static std::unexpected<Error> refused(std::string_view what) {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("libdw cannot use {} of the node: {}", what, dwfl_errmsg(-1)));
    }
};

void NativeFrames::SessionDeleter::operator()(Session* session) const {
    delete session;
}

NativeFrames::NativeFrames(std::unique_ptr<Session, SessionDeleter> session)
    : session_(std::move(session)) {}

Result<NativeFrames> NativeFrames::open(Target& target) {
    std::unique_ptr<Session, SessionDeleter> session(new Session);
    session->target = &target;
    session->folders = {target.root(), target.debug_folder()};
    RETURN_IF_ERROR(session->report());
    return NativeFrames(std::move(session));
}

NativeStack NativeFrames::unwind(const ThreadStack& thread,
                                 const std::function<bool(Address)>& is_jit) {
    session_->unwinding = {.architecture = session_->target->image().architecture(),
                           .stack = &thread,
                           .is_jit = &is_jit,
                           .found = {}};
    // An error means that the frames end before they lead anywhere: what was found stands.
    const int outcome = dwfl_getthread_frames(session_->dwfl.get(), thread.thread, take_frame,
                                              &session_->unwinding);
    auto found = std::move(session_->unwinding.found);
    found.whole = found.leads_to || outcome == DWARF_CB_OK;
    if (found.places.empty()) {
        found.places.push_back(thread.instruction);
    }
    return found;
}

std::optional<std::string> NativeFrames::name_at(Address address) {
    const auto known = names_.find(address);
    if (known != names_.end()) {
        return known->second;
    }
    if (names_.size() >= kMostNames) {
        names_.clear();
    }
    return names_.emplace(address, find_name(address)).first->second;
}

std::vector<NamedFunction> NativeFrames::functions(
    const std::function<bool(const std::string&)>& wanted, std::size_t most) {
    struct Search {
        const std::function<bool(const std::string&)>* wanted;
        std::map<Address, std::string> found{};
    } search{&wanted};
    const auto take_module = [](Dwfl_Module* module, void** /*userdata*/, const char* /*name*/,
                                Dwarf_Addr /*begin*/, void* argument) -> int {
        auto& [accepts, found] = *static_cast<Search*>(argument);
        const int count = dwfl_module_getsymtab(module);
        for (int at = 1; at < count; ++at) {
            GElf_Sym symbol{};
            GElf_Addr address = 0;
            GElf_Word section = 0;
            const char* name =
                dwfl_module_getsym_info(module, at, &symbol, &address, &section, nullptr, nullptr);
            if (name != nullptr && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
                section != SHN_UNDEF && address != 0) {
                if (auto text = readable(name); (*accepts)(text)) {
                    found.emplace(address, std::move(text));
                }
            }
        }
        return DWARF_CB_OK;
    };
    dwfl_getmodules(session_->dwfl.get(), take_module, &search, 0);
    std::vector<NamedFunction> functions;
    for (auto& [begin, name] : search.found) {
        if (functions.size() == most) {
            break;
        }
        functions.push_back({std::move(name), begin});
    }
    return functions;
}

std::optional<std::string> NativeFrames::variable_at(Address address) {
    auto* module = dwfl_addrmodule(session_->dwfl.get(), address);
    if (module == nullptr) {
        return std::nullopt;
    }
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    const char* name =
        dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name != nullptr && GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && offset < symbol.st_size) {
        return offset == 0 ? readable(name) : fmt::format("{}+{:#x}", readable(name), offset);
    }
    return place_in_file(module, address);
}

NativePlace NativeFrames::place_at(Address address) {
    NativePlace place;
    const auto& mappings = session_->target->mappings();
    if (const auto* mapping = mappings.find(address);
        mapping != nullptr && mapping->path.starts_with('/')) {
        place.file = mapping->path;
        place.file_begin = mappings.first_of(mapping->path)->range.begin;
    }
    auto* module = dwfl_addrmodule(session_->dwfl.get(), address);
    if (module == nullptr) {
        return place;
    }
    place.build_id = build_id_text(module);
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    if (const char* name =
            dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr)) {
        place.symbol = readable(name);
        place.symbol_begin = address - offset;
    } else {
        place.symbol_begin = begin_of_function(module, address).value_or(0);
    }
    return place;
}

std::optional<std::string> NativeFrames::find_name(Address address) {
    auto* module = dwfl_addrmodule(session_->dwfl.get(), address);
    if (module == nullptr) {
        const auto* mapping = session_->target->mappings().find(address);
        return mapping != nullptr && mapping->path.starts_with('[') ? std::optional(mapping->path)
                                                                    : std::nullopt;
    }
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    const char* name =
        dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name != nullptr) {
        return readable(name);
    }
    return place_in_file(module, begin_of_function(module, address).value_or(address));
}

}  // namespace beamdump::target
