#include <libdump/base/return_if_error.h>
#include <libsample/stack/process_stacks.h>
#include <libvm/arch/call_code.h>
#include <libvm/beam/layout/runtime_names.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace beamdump::sampler {
namespace {

/// Heaps up to this size are read together with the stack, for what the dictionary tells.
constexpr std::uint64_t kReadAheadBytes = std::uint64_t{1} << 20U;
constexpr std::size_t kLabelBytes = 200;

StackTry missed(StackMiss miss, std::string why = {}) {
    return {.miss = miss, .why = std::move(why)};
}

StackMiss miss_of(records::VoidReason reason) {
    switch (reason) {
        case records::VOID_REASON_NONE:
            return StackMiss::kNone;
        case records::VOID_REASON_RUNNING:
            return StackMiss::kRunning;
        case records::VOID_REASON_COLLECTING:
            return StackMiss::kCollecting;
        case records::VOID_REASON_LOCKED:
            return StackMiss::kLocked;
        case records::VOID_REASON_EXITING:
            return StackMiss::kExiting;
        default:
            return StackMiss::kChanged;
    }
}

/// `registers` is the first member of ErtsSchedulerData (erl_process.h, OTP 25 to 29).
constexpr Address kRegisters = 0;
constexpr std::uint64_t kMostNativeWords = std::uint64_t{1} << 16U;
/// Behind a call of native code the JIT's code takes the stack back at once.
constexpr std::size_t kCodeBehind = 16;

}  // namespace

bool notes_function(std::string_view fragment) {
    return fragment == "call_bif_shared" || fragment == "call_nif_shared";
}

bool takes_saved_stack(beam::Vm& vm, const beam::Field& htop, const beam::Field& stop,
                       Address returns_to) {
    std::array<std::byte, kCodeBehind> code{};
    return vm.memory().read(returns_to, code) &&
           arch::takes_stack_from_structure(vm.layout().architecture(), code,
                                            {htop.offset, stop.offset});
}

Result<ProcessStacks> ProcessStacks::open(ObservedNode& node, std::size_t frames) {
    auto& vm = node.vm();
    ASSIGN_OR_RETURN(auto reader, beam::ProcessReader::open(vm, node.code()));
    ASSIGN_OR_RETURN(auto proof, beam::ProcessProof::open(vm.layout(), vm.bulk()));
    ASSIGN_OR_RETURN(const auto key, node.find_atom(beam::TranslatedCalls::kKey));
    ASSIGN_OR_RETURN(auto calls, beam::TranslatedCalls::open(vm, key));
    ASSIGN_OR_RETURN(auto dictionaries, beam::DictionaryReader::open(vm));
    ASSIGN_OR_RETURN(auto terms, LiveTerms::open(node));
    ASSIGN_OR_RETURN(auto table, beam::IdTable::processes(vm));
    ASSIGN_OR_RETURN(const auto pids, beam::PidWords::of(vm));
    ASSIGN_OR_RETURN(const auto label, node.find_atom(beam::DictionaryKeys::kLabel));
    beam::LayoutNames names(vm.layout());
    Parts parts{
        node, std::move(reader), std::move(proof), calls, dictionaries, std::move(terms), table,
        pids, names.field(beam::runtime::Process::common_id),
        names.field(beam::runtime::Process::heap), names.field(beam::runtime::Process::hend),
        names.field(beam::runtime::Process::common_reg), names.field(beam::runtime::Process::htop),
        names.field(beam::runtime::Process::stop), names.field(beam::runtime::Process::current),
        beam::ExportFields(names).mfa,
        // SchedulerReader fails without it; who reads no schedulers needs none.
        beam::LayoutNames(vm.layout()).field(beam::runtime::ErtsSchedulerData::current_process),
        label, frames};
    RETURN_IF_ERROR(names.outcome());
    return ProcessStacks(std::move(parts));
}

/// Reads a process's stack. False: it is not there.
Result<bool> ProcessStacks::read_words(const beam::ProcessView& process) {
    words_.resize(std::min(process.stack.words(), kMostStackWords));
    const auto read = parts_.node.vm().bulk().read(process.stack.begin,
                                                   std::as_writable_bytes(std::span(words_)));
    if (!read && ends_all(read.error())) {
        return std::unexpected(read.error());
    }
    return read.has_value();
}

/// The frames of what read_words() has read.
Result<StackFrames> ProcessStacks::walk_words(const beam::ProcessView& process) {
    return walk([&] {
        return walk_stack(rules_of(parts_.node), process.facts.instruction_address(),
                          {process.stack.begin, words_, process.stack.end}, parts_.frames);
    });
}

Result<StackTry> ProcessStacks::at_rest(const beam::IdSlot& slot, bool stopped) {
    ASSIGN_OR_RETURN(const auto first, parts_.proof.read(slot.address, before_));
    if (!first) {
        return missed(StackMiss::kExiting);
    }
    const auto busy = miss_of(parts_.proof.busy(before_));
    if (busy != StackMiss::kNone && !(stopped && busy == StackMiss::kLocked)) {
        return missed(busy);
    }
    ASSIGN_OR_RETURN(const auto process, decode(slot, before_.structure));
    if (!process) {
        return missed(StackMiss::kExiting);
    }
    if (process->stack.begin == 0) {
        return missed(StackMiss::kTorn, process->void_detail);
    }
    ASSIGN_OR_RETURN(const bool read, read_words(*process));
    if (!read) {
        return missed(StackMiss::kChanged);
    }
    read_ahead(*process);
    auto who = identity(*process, true);
    parts_.node.vm().prefetched().drop();
    if (!stopped) {
        ASSIGN_OR_RETURN(const auto second, parts_.proof.read(slot.address, after_));
        const auto changed =
            second ? miss_of(parts_.proof.changed(before_, after_)) : StackMiss::kExiting;
        if (changed != StackMiss::kNone) {
            return missed(changed);
        }
    }
    auto frames = walk_words(*process);
    return shown(*process, stopped ? StackProof::kStopped : StackProof::kUnchanged,
                 std::move(frames), std::move(who));
}

Result<StackTry> ProcessStacks::standing(const beam::IdSlot& slot, const beam::YieldState& known) {
    ASSIGN_OR_RETURN(const auto read, parts_.proof.read(slot.address, before_));
    if (!read || !known.apply(slot.address, before_.structure)) {
        return missed(StackMiss::kRunning);
    }
    parts_.node.vm().forget();
    ASSIGN_OR_RETURN(const auto process, decode(slot, before_.structure, true));
    if (!process || process->stack.begin == 0) {
        return missed(StackMiss::kRunning);
    }
    ASSIGN_OR_RETURN(const bool words, read_words(*process));
    if (!words) {
        return missed(StackMiss::kRunning);
    }
    auto frames = walk_words(*process);
    auto found = shown(*process, StackProof::kStopped, std::move(frames), identity(*process, true));
    if (found && found->stack && process->facts.has_current_function()) {
        // In a BIF the place is where the process goes on, in the function that has called it.
        auto function = parts_.node.function_text(process->facts.current_function());
        if (auto& all = found->stack->frames; all.front() != function) {
            all.insert(all.begin(), std::move(function));
        }
    }
    return found;
}

Result<StackTry> ProcessStacks::sampled(const Sample& sample) {
    auto& node = parts_.node;
    if (sample.in_kernel || !node.in_code(sample.place)) {
        return missed(StackMiss::kRunning);
    }
    const auto slot = slot_of(sample.at(Register::kProcess));
    if (!slot) {
        return missed(StackMiss::kExiting);
    }
    ASSIGN_OR_RETURN(const auto read, parts_.proof.read(slot->address, before_));
    const beam::StructView view(before_.structure);
    const auto top = sample.at(Register::kStackPointer);
    // Elsewhere it is the thread's own stack, in the middle of a call of native code; or a
    // collection has moved the process's since.
    if (!read || top % 8 != 0 || top < view.get(parts_.heap) || top >= view.get(parts_.hend)) {
        return missed(StackMiss::kRunning);
    }
    node.vm().forget();
    ASSIGN_OR_RETURN(const auto process, decode(*slot, before_.structure));
    if (!process) {
        return missed(StackMiss::kExiting);
    }
    words_.resize(sample.stack.size() / 8);
    std::ranges::copy(sample.stack.first(words_.size() * 8),
                      std::as_writable_bytes(std::span(words_)).begin());
    const auto bottom = view.get(parts_.hend);
    const auto inside = std::min<std::uint64_t>(words_.size(), (bottom - top) / 8);
    words_.resize(inside);
    auto frames = walk([&] {
        return walk_interrupted(node, sample.place, sample.link(), {top, words_, bottom},
                                parts_.frames);
    });
    // What is under the key of the initial call never changes; a label may.
    return shown(*process, StackProof::kSampled, std::move(frames), identity(*process, false));
}

Result<StackTry> ProcessStacks::native(const beam::IdSlot& slot, Address scheduler,
                                       std::optional<Address> returns_to,
                                       const std::function<bool()>& stands) {
    auto& node = parts_.node;
    auto& memory = node.vm().bulk();
    const auto missed = [](StackMiss miss) { return StackTry{.miss = miss}; };
    const auto place = return_slot(scheduler);
    const auto to = place ? memory.word(*place) : place;
    ASSIGN_OR_RETURN(const auto read, parts_.proof.read(slot.address, before_));
    if (!to || !read) {
        return missed(StackMiss::kExiting);
    }
    const auto busy = parts_.proof.busy(before_);
    if (busy != records::VOID_REASON_RUNNING) {
        return missed(busy == records::VOID_REASON_COLLECTING ? StackMiss::kCollecting
                                                              : StackMiss::kChanged);
    }
    const auto fragment = node.shared().name_at(*to);
    if (!node.in_code(*to) || (returns_to && *to != *returns_to) || !takes_saved_stack(*to) ||
        (fragment && *fragment != kLightBif && !notes_function(*fragment))) {
        return missed(StackMiss::kRunning);
    }
    const auto called = fragment && *fragment == kLightBif ? light_bif(scheduler) : std::nullopt;
    if (fragment && *fragment == kLightBif && !called) {
        return missed(StackMiss::kRunning);
    }
    node.vm().forget();
    ASSIGN_OR_RETURN(const auto process, decode(slot, before_.structure));
    if (!process || process->stack.begin == 0) {
        return missed(StackMiss::kChanged);
    }
    words_.resize(std::min(process->stack.words(), kMostNativeWords));
    const auto words = memory.read(process->stack.begin, std::as_writable_bytes(std::span(words_)));
    auto who = identity(*process, static_cast<bool>(stands));
    const auto unchanged = [&]() -> Result<bool> {
        ASSIGN_OR_RETURN(const auto again, parts_.proof.read(slot.address, after_));
        std::vector<std::uint64_t> second(words_.size());
        const auto reread =
            memory.read(process->stack.begin, std::as_writable_bytes(std::span(second)));
        const auto to_again = memory.word(*place);
        return again && reread && to_again && *to_again == *to && second == words_ &&
               before_.structure == after_.structure;
    };
    ASSIGN_OR_RETURN(const auto held, stands ? Result<bool>(stands()) : unchanged());
    if (!words || !held) {
        return missed(StackMiss::kRunning);
    }
    auto frames = walk([&] {
        // Minus one: the call may be the last instruction of its function.
        return walk_stack(rules_of(node), fragment ? *to : *to - 1,
                          {process->stack.begin, words_, process->stack.end}, parts_.frames);
    });
    auto found = shown(*process, StackProof::kNative, std::move(frames), std::move(who));
    if (found && found->stack && called) {
        found->stack->frames.front() = *called;
    }
    return found;
}

Result<bool> ProcessStacks::is_as_read(const beam::IdSlot& slot) {
    beam::ProcessReading now;
    ASSIGN_OR_RETURN(const auto read, parts_.proof.read(slot.address, now));
    return read && miss_of(parts_.proof.changed(after_, now)) == StackMiss::kNone;
}

Result<StackTry> ProcessStacks::last_pause(const beam::IdSlot& slot) {
    ASSIGN_OR_RETURN(const auto read, parts_.proof.read(slot.address, before_));
    if (!read) {
        return missed(StackMiss::kExiting);
    }
    parts_.node.vm().forget();
    ASSIGN_OR_RETURN(const auto process, decode(slot, before_.structure));
    if (!process) {
        return missed(StackMiss::kExiting);
    }
    const auto bounds = bounds_of(slot.address);
    ASSIGN_OR_RETURN(const bool words, read_words(*process));
    if (!words) {
        return missed(StackMiss::kChanged);
    }
    if (!bounds || bounds_of(slot.address) != bounds || bounds->stop != process->stack.begin) {
        return missed(StackMiss::kChanged);
    }
    auto frames = walk_words(*process);
    return shown(*process, StackProof::kUnchanged, std::move(frames), identity(*process, false));
}

std::optional<Address> ProcessStacks::native_return(Address scheduler, const Sample& sample) {
    const auto slot = return_slot(scheduler);
    const auto top = sample.at(Register::kStackPointer);
    if (!slot || (!sample.in_kernel && parts_.node.in_code(sample.place)) || top % 8 != 0 ||
        *slot < top || *slot - top + 8 > sample.stack.size()) {
        return std::nullopt;
    }
    Address returns_to = 0;
    std::memcpy(&returns_to, sample.stack.data() + (*slot - top), sizeof(returns_to));
    return parts_.node.in_code(returns_to) ? std::optional(returns_to) : std::nullopt;
}

bool ProcessStacks::is_in_call_of(Address scheduler, const Sample& sample) {
    // The return address, then the scheduler's registers: kCallPlace and kExportEntry of them.
    constexpr std::size_t kWords = 4;
    static_assert(8 + kExportEntry == (kWords - 1) * 8);
    std::array<std::uint64_t, kWords> then{}, now{};
    const auto slot = return_slot(scheduler);
    const auto top = sample.at(Register::kStackPointer);
    if (!slot || *slot < top || *slot - top + sizeof(then) > sample.stack.size() ||
        !parts_.node.vm().bulk().read(*slot, std::as_writable_bytes(std::span(now)))) {
        return false;
    }
    std::memcpy(then.data(), sample.stack.data() + (*slot - top), sizeof(then));
    const bool light = parts_.node.shared().name_at(then[0]) == kLightBif;
    return then[0] == now[0] && (!light || (then[2] == now[2] && then[3] == now[3]));
}

Result<Address> ProcessStacks::current_process(Address scheduler) {
    return parts_.node.vm().bulk().word(scheduler + parts_.current_process.offset);
}

/// The JIT calls native code on the thread's stack just below the scheduler's registers, which are
/// themselves on that stack (ErtsSchedulerRegisters, runtime_stack; jit/x86/beam_asm.hpp,
/// emit_enter_runtime()): the call pushes its return address there.
Result<Address> ProcessStacks::return_slot(Address scheduler) {
    ASSIGN_OR_RETURN(const auto registers, parts_.node.vm().bulk().word(scheduler + kRegisters));
    if (registers % 8 != 0 || registers < 8) {
        return fail(ErrorCode::kImplausible, "a scheduler's registers are at no word's address");
    }
    return registers - 8;
}

bool ProcessStacks::calls_by_register(Address returns_to) {
    std::array<std::byte, sizeof(std::uint32_t)> code{};
    return parts_.node.vm().memory().read(returns_to - code.size(), code) &&
           arch::calls_register(parts_.node.vm().layout().architecture(), code);
}

std::optional<std::string> ProcessStacks::bif_of(Address export_entry) {
    const auto function = parts_.node.code().mfa_at(export_entry + parts_.export_mfa.offset);
    return function ? std::optional(parts_.node.function_text(*function)) : std::nullopt;
}

Result<std::optional<ProcessIdentity>> ProcessStacks::identify(const beam::IdSlot& slot) {
    ASSIGN_OR_RETURN(const auto read, parts_.proof.read(slot.address, before_));
    if (!read) {
        return std::nullopt;
    }
    parts_.node.vm().forget();
    ASSIGN_OR_RETURN(const auto process, decode(slot, before_.structure));
    return process ? std::optional(identity(*process, false)) : std::nullopt;
}

std::optional<StackBounds> ProcessStacks::bounds_of(Address process) {
    head_.resize(beam::end_of({parts_.heap, parts_.hend, parts_.stop}));
    if (!parts_.node.vm().bulk().read(process, head_)) {
        return std::nullopt;
    }
    const beam::StructView view(head_);
    return StackBounds{view.get(parts_.heap), view.get(parts_.hend), view.get(parts_.stop)};
}

std::optional<std::string> ProcessStacks::noted_function(Address process) {
    const auto current = parts_.node.vm().bulk().word(process + parts_.current.offset);
    const auto function =
        current && *current != 0 ? parts_.node.code().mfa_at(*current) : std::nullopt;
    return function ? std::optional(parts_.node.function_text(*function)) : std::nullopt;
}

std::optional<beam::IdSlot> ProcessStacks::slot_of(Address process) {
    auto& memory = parts_.node.vm().bulk();
    const auto id = process % 8 == 0 ? memory.word(process + parts_.id.offset)
                                     : fail(ErrorCode::kUnmapped, "no structure is there");
    if (!id || !parts_.pids.owner_id(*id)) {
        return std::nullopt;
    }
    const beam::IdSlot slot{static_cast<std::uint32_t>(parts_.pids.slot(*id)), process};
    const auto holds = parts_.table.holds(slot);
    return holds && *holds ? std::optional(slot) : std::nullopt;
}

std::optional<std::uint64_t> ProcessStacks::owner_of(Address process) {
    const auto id = parts_.node.vm().bulk().word(process + parts_.id.offset);
    return id ? parts_.pids.owner_id(*id) : std::nullopt;
}

Result<std::optional<beam::ProcessView>> ProcessStacks::decode(const beam::IdSlot& slot,
                                                               std::span<const std::byte> structure,
                                                               bool yielded) {
    // Names and the like are read through the cache, which may be older than the structure.
    if (beam::StructView(structure).get(parts_.reg) != 0) {
        parts_.node.vm().forget();
    }
    auto process = parts_.reader.decode(slot, structure, yielded);
    if (!process && ends_all(process.error())) {
        return std::unexpected(process.error());
    }
    return process ? std::optional(std::move(*process)) : std::nullopt;
}

/// Reads what identity() will need in one call, all after the structure.
void ProcessStacks::read_ahead(const beam::ProcessView& process) {
    auto& vm = parts_.node.vm();
    const std::array<memory::AddressRange, 3> parts = {
        {{process.heap.begin, process.heap.end},
         {process.old_heap.begin, process.old_heap.end},
         {process.dictionary.begin, process.dictionary.end}}};
    std::uint64_t bytes = 0;
    for (const auto& part : parts) {
        bytes += part.bytes();
    }
    vm.prefetched().drop();
    // An error will show again where the parts are used.
    if (bytes > kReadAheadBytes || !vm.prefetched().read(vm.target().memory(), parts)) {
        vm.forget();
    }
}

ProcessIdentity ProcessStacks::identity(const beam::ProcessView& process, bool with_label) {
    auto& node = parts_.node;
    const auto& facts = process.facts;
    ProcessIdentity who{.owner_id = facts.owner_id(), .status = facts.status()};
    if (facts.has_registered_name_atom()) {
        who.registered = node.atom(facts.registered_name_atom());
        who.registered_atom = facts.registered_name_atom();
    }
    if (const auto translated = parts_.calls.of(process); translated || facts.has_initial_call()) {
        const auto& call = translated ? *translated : facts.initial_call();
        who.initial_call = node.function_text(call);
        who.initial_call_atoms =
            FunctionAtoms{call.module_atom(), call.function_atom(), call.arity()};
    }
    if (facts.has_current_function()) {
        who.current_function = node.function_text(facts.current_function());
    }
    if (with_label && parts_.label_atom) {
        if (const auto label = parts_.dictionaries.value(process, *parts_.label_atom)) {
            who.label = parts_.terms.text(*label, kLabelBytes);
        }
    }
    return who;
}

Result<StackTry> ProcessStacks::shown(const beam::ProcessView& process, StackProof proof,
                                      Result<StackFrames> frames, ProcessIdentity identity) {
    if (!frames) {
        return ends_all(frames.error())
                   ? Result<StackTry>(std::unexpected(frames.error()))
                   : missed(frames.error().code == ErrorCode::kChanged ? StackMiss::kChanged
                                                                       : StackMiss::kTorn,
                            frames.error().message);
    }
    auto& node = parts_.node;
    ProcessStack stack{.process = std::move(identity), .proof = proof, .more = frames->more};
    auto first = node.place_at(frames->instruction);
    const bool shared = first && first->starts_with('<');
    // Code that a fragment was called from is a return address; otherwise, in a native call and
    // where it was scheduled out in a fragment, the process has noted the function.
    if ((!first || shared) && proof != StackProof::kSampled &&
        process.facts.has_current_function()) {
        first = node.function_text(process.facts.current_function());
    }
    if (!shared || proof != StackProof::kSampled) {
        stack.frames.push_back(first.value_or("<unknown function>"));
    }
    for (const auto address : frames->returns) {
        // Minus one: a call may be the last instruction of its function.
        stack.frames.push_back(node.place_at(address - 1).value_or("<unknown function>"));
    }
    return StackTry{.stack = std::move(stack)};
}

std::optional<std::string> ProcessStacks::light_bif(Address scheduler) {
    auto& memory = parts_.node.vm().bulk();
    const auto registers = memory.word(scheduler + kRegisters);
    const auto entry = registers ? memory.word(*registers + kExportEntry) : registers;
    return entry ? bif_of(*entry) : std::nullopt;
}

/// A walk that meets code that was loaded since: reads which modules there are, and walks again.
Result<StackFrames> ProcessStacks::walk(const std::function<Result<StackFrames>()>& once) {
    auto frames = once();
    if (frames || frames.error().code != ErrorCode::kImplausible) {
        return frames;
    }
    RETURN_IF_ERROR(parts_.node.refresh_code());
    return once();
}

}  // namespace beamdump::sampler
