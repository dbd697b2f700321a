#include "query/activity/crash_causes.h"

#include <libdump/format/node_signals.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace beamdump::query {
namespace {

namespace signals = format::signals;

/// Below it nothing is mapped (vm.mmap_min_addr, 65,536 by default): a null pointer, or a member of
/// what one points to.
constexpr std::uint64_t kNullBytes = 65536;
/// A function steps below its stack by its own frame at most: seldom more.
constexpr std::uint64_t kStepBytes = std::uint64_t{1} << 20U;

/// Files of the C and C++ runtimes and of the loader: what others call.
bool is_runtime(std::string_view name) {
    static constexpr std::array kRuntimes = {
        "libc.so", "libc-2.",  "libm.so", "libm-2.",      "libpthread",  "libdl",
        "librt",   "ld-linux", "ld-musl", "libstdc++.so", "libgcc_s.so", "libc++"};
    return std::ranges::any_of(kRuntimes,
                               [&](const char* runtime) { return name.starts_with(runtime); });
}

/// What the C library's allocator says when it finds its memory damaged (malloc_printerr() in
/// glibc's malloc/malloc.c).
bool is_of_allocator(std::string_view text) {
    static constexpr std::array kBegins = {"double free or corruption",
                                           "free(): ",
                                           "malloc(): ",
                                           "malloc_consolidate(): ",
                                           "realloc(): ",
                                           "munmap_chunk(): ",
                                           "corrupted ",
                                           "mremap_chunk(): ",
                                           "malloc: ",
                                           "unaligned ",
                                           "invalid fastbin",
                                           "memory corruption"};
    return std::ranges::any_of(kBegins, [&](const char* begin) { return text.starts_with(begin); });
}

/// Functions that end a program for lack of memory (erl_alloc.c and erl_alloc_util.c, OTP 25 to 29;
/// libstdc++).
bool is_out_of_memory(std::string_view function) {
    static constexpr std::array kNames = {"erts_alc_fatal_error",  "erts_alloc_enomem",
                                          "erts_alloc_n_enomem",   "erts_realloc_enomem",
                                          "erts_realloc_n_enomem", "std::__throw_bad_alloc"};
    return std::ranges::any_of(kNames,
                               [&](const char* name) { return function.starts_with(name); });
}

/// Decides one after another what the facts speak for.
class CrashReasoner {
  public:
    CrashReasoner(const Crash& crash, const records::Crash& first, std::int64_t own_pid)
        : crash_(crash), first_(first), own_pid_(own_pid) {}

    std::vector<CrashCause> causes() {
        sent();
        overflow();
        allocation();
        aborted();
        address();
        instruction();
        library();
        return std::move(causes_);
    }

  private:
    template <typename... Parts>
    void add(std::string_view id, fmt::format_string<Parts...> text, Parts&&... parts) {
        causes_.push_back({id, fmt::format(text, std::forward<Parts>(parts)...)});
    }

    [[nodiscard]] const std::vector<NativeFrameLine>& frames() const {
        static const std::vector<NativeFrameLine> kNone;
        return crash_.died ? crash_.died->native_frames : kNone;
    }

    /// The innermost frame that is in none of the runtimes' files.
    [[nodiscard]] const NativeFrameLine* own_frame() const {
        const auto found = std::ranges::find_if(frames(), [](const NativeFrameLine& frame) {
            return !frame.name.empty() && !is_runtime(frame.name);
        });
        return found == frames().end() ? nullptr : &*found;
    }

    /// ", called by shop:price/1 of cart (<0.90.0>)", as far as it is known.
    [[nodiscard]] std::string caller() const {
        if (!crash_.died) {
            return {};
        }
        const auto& died = *crash_.died;
        const auto kind = died.called_kind == "nif" ? "the NIF " : "";
        std::string text = died.called ? fmt::format(", in {}{}", kind, *died.called) : "";
        if (died.process) {
            const auto name = shown_name(*died.process);
            text += fmt::format(", run by {}{}", died.process->pid,
                                name ? fmt::format(" ({})", *name) : "");
        }
        return text;
    }

    void sent() {
        if (crash_.sender_pid && *crash_.sender_pid != own_pid_) {
            add("sent", "{} was sent by {}{}: it did not come from what the node ran.",
                crash_.signal_name,
                *crash_.sender_pid == 0 ? "a process of another namespace, or the kernel"
                                        : fmt::format("process {}", *crash_.sender_pid),
                crash_.sender_user ? fmt::format(" of user {}", *crash_.sender_user) : "");
            from_outside_ = true;
        }
    }

    void overflow() {
        if (crash_.signal != signals::kSegv || !crash_.fault_address || first_.thread().empty() ||
            frames().empty()) {
            return;
        }
        const auto& thread = first_.thread(0);
        constexpr int kRsp = 7;
        if (!thread.has_stack() || thread.general_register_size() <= kRsp ||
            crash_.dump.redaction) {
            return;
        }
        const auto begin = thread.stack().begin_address();
        const auto pointer = thread.general_register(kRsp);
        const auto at = *crash_.fault_address;
        // A page below the stack, at or near where the stack pointer is.
        const bool below = at < begin && begin - at <= kStepBytes;
        const bool near_pointer = (at >= pointer ? at - pointer : pointer - at) <= kStepBytes &&
                                  pointer < begin + kNullBytes;
        if (below && near_pointer) {
            overflown_ = true;
            const auto repeated = std::ranges::count_if(frames(), [&](const auto& frame) {
                return frame.function && frame.function == frames().front().function;
            });
            add("stack_overflow",
                "The C stack of the thread was used up: the address is {} bytes below it, and the "
                "stack pointer is at {:#x}.{}",
                begin - at, pointer,
                repeated > 2 ? fmt::format(" {} of its innermost {} frames are of {}.", repeated,
                                           frames().size(), *frames().front().function)
                             : "");
        }
    }

    void allocation() {
        const auto found = std::ranges::find_if(frames(), [](const NativeFrameLine& frame) {
            return frame.function && is_out_of_memory(*frame.function);
        });
        if (found != frames().end()) {
            add("allocation_failed", "Memory could not be allocated: {} was called{}.",
                *found->function, caller());
        }
    }

    void aborted() {
        if (crash_.signal != signals::kAbrt || from_outside_) {
            return;
        }
        const auto* own = own_frame();
        const auto place =
            own == nullptr ? std::string() : fmt::format(", called from {}", own->text());
        if (crash_.abort_text) {
            if (is_of_allocator(*crash_.abort_text)) {
                add("heap_corruption",
                    "The C library's allocator found its memory damaged and aborted: \"{}\"{}{}. "
                    "The damage may have been done earlier and elsewhere.",
                    *crash_.abort_text, place, caller());
            } else {
                add("abort_text", "The C library aborted: \"{}\"{}{}.", *crash_.abort_text, place,
                    caller());
            }
            return;
        }
        const bool thrown = std::ranges::any_of(frames(), [](const NativeFrameLine& frame) {
            return frame.function && (frame.function->starts_with("std::terminate") ||
                                      frame.function->starts_with("__cxxabiv1::__terminate"));
        });
        if (thrown) {
            add("cxx_exception", "A C++ exception was caught by nobody{}{}.", place, caller());
        } else if (own != nullptr && own->is_vm) {
            add("vm_abort", "The VM aborted itself{}{}.", place, caller());
        }
    }

    void address() {
        if (!crash_.fault_address || overflown_) {
            if (crash_.code == signals::kKernel &&
                (crash_.signal == signals::kSegv || crash_.signal == signals::kBus)) {
                add("damaged_pointer",
                    "A pointer was used that can be none: it was overwritten, or never set.");
            }
            return;
        }
        const auto at = *crash_.fault_address;
        if (crash_.signal == signals::kSegv && at < kNullBytes) {
            add("null_pointer", "A null pointer was used (address {:#x}){}.", at, caller());
        } else if (crash_.signal == signals::kSegv && crash_.code == signals::kSegvAccerr &&
                   crash_.fault_mapping) {
            add("closed_memory",
                "Memory was used in a way that it does not permit: {:#x} is in {}.", at,
                *crash_.fault_mapping);
        } else if (crash_.signal == signals::kBus && crash_.code == signals::kBusAdrerr &&
                   first_.fault_mapping().has_path()) {
            add("file_too_short",
                "A mapped file has no page at {:#x}: {} is shorter than its mapping, as one that "
                "was "
                "truncated, or could not be read.",
                at, first_.fault_mapping().path());
        } else if (crash_.signal == signals::kBus &&
                   (crash_.code == signals::kBusMceerrAr || crash_.code == signals::kBusMceerrAo)) {
            add("defective_memory", "The machine's memory is defective at {:#x}.", at);
        }
    }

    void instruction() {
        if (crash_.signal == signals::kIll && !from_outside_) {
            add("illegal_instruction",
                "The processor was given an instruction that it does not have, or that ends a "
                "program "
                "on purpose{}.",
                frames().empty() ? "" : fmt::format(": at {}", frames().front().text()));
        } else if (crash_.signal == signals::kFpe && crash_.code == signals::kFpeIntdiv) {
            add("division_by_zero", "An integer was divided by zero{}.",
                frames().empty() ? "" : fmt::format(": at {}", frames().front().text()));
        }
    }

    void library() {
        const auto* own = own_frame();
        if (own == nullptr || own->is_vm || from_outside_) {
            return;
        }
        add("library", "The thread was in {}, {}{}.", own->text(), own->file.value_or("a library"),
            caller());
    }

    const Crash& crash_;
    const records::Crash& first_;
    std::int64_t own_pid_;
    std::vector<CrashCause> causes_;
    bool from_outside_ = false;
    bool overflown_ = false;
};

}  // namespace

std::vector<CrashCause> causes_of(const Crash& crash, const records::Crash& first,
                                  std::int64_t own_pid) {
    return CrashReasoner(crash, first, own_pid).causes();
}

}  // namespace beamdump::query
