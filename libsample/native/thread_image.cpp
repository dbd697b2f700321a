#include <libdump/base/decimal.h>
#include <libdump/base/hexadecimal.h>
#include <libdump/base/return_if_error.h>
#include <libsample/native/thread_image.h>
#include <libvm/target/process/clock.h>
#include <libvm/target/process/proc_directory.h>

#include <fmt/format.h>

namespace beamdump::sampler {
namespace {

/// As much as a sample has.
constexpr std::size_t kStackBytes = 32768;

/// "0x7f2c8c0010a8"
std::optional<std::uint64_t> address(std::string_view text) {
    constexpr std::string_view kBefore = "0x";
    return text.starts_with(kBefore) ? hexadecimal_number(text.substr(kBefore.size()))
                                     : std::nullopt;
}

/// Takes the last word of a text off it.
std::string_view last_word(std::string_view& text) {
    const auto space = text.rfind(' ');
    const auto word = space == std::string_view::npos ? text : text.substr(space + 1);
    text = space == std::string_view::npos ? std::string_view() : text.substr(0, space);
    return word;
}

std::unexpected<Error> other_form(std::string_view text) {
    return fail(ErrorCode::kImplausible,
                fmt::format("a thread's syscall in /proc is '{}'", text.substr(0, 200)));
}

void set(Sample& sample, Register name, std::uint64_t value) {
    sample.registers.at(static_cast<std::size_t>(name)) = value;
    sample.known |= std::uint64_t{1} << static_cast<unsigned>(name);
}

}  // namespace

target::ThreadStack stack_of(const Sample& sample) {
    using arch::host::kDwarfOrder;
    static_assert(kDwarfOrder.size() <= target::ThreadStack::kRegisters);
    target::ThreadStack found{.thread = sample.thread,
                              .instruction = sample.at(Register::kInstruction),
                              .stack_pointer = sample.at(Register::kStackPointer),
                              .bytes = sample.stack};
    for (std::size_t at = 0; at < kDwarfOrder.size(); ++at) {
        if (sample.knows(kDwarfOrder[at])) {
            found.registers.at(at) = sample.at(kDwarfOrder[at]);
        }
    }
    return found;
}

Result<std::optional<CallPlace>> parse_call_place(std::string_view text) {
    if (text.ends_with('\n')) {
        text.remove_suffix(1);
    }
    if (text == "running") {
        return std::nullopt;
    }
    // "202 0x7f.. (six arguments) 0x7f.. 0x7f..", or "-1 0x7f.. 0x7f..": not in a system call.
    auto rest = text;
    const auto instruction = address(last_word(rest));
    const auto stack_pointer = address(last_word(rest));
    if (!instruction || !stack_pointer || rest.empty()) {
        return other_form(text);
    }
    CallPlace place{*stack_pointer, *instruction};
    if (rest == "-1") {
        return place;
    }
    SystemCall call;
    for (auto argument = call.arguments.rbegin(); argument != call.arguments.rend(); ++argument) {
        const auto value = address(last_word(rest));
        if (!value) {
            return other_form(text);
        }
        *argument = *value;
    }
    const auto number = decimal_number(rest);
    if (!number) {
        return other_form(text);
    }
    call.number = *number;
    place.call = call;
    return place;
}

ThreadImage ThreadImage::of(const Sample& sample) {
    ThreadImage image;
    image.sample_ = sample;
    image.sample_.stack = {};
    image.stack_.assign(sample.stack.begin(), sample.stack.end());
    image.sample_.erlang_stack = {};
    image.erlang_stack_.assign(sample.erlang_stack.begin(), sample.erlang_stack.end());
    return image;
}

Result<ThreadImage> ThreadImage::stopped(const target::ThreadRegisters& thread,
                                         memory::MemorySource& memory) {
    ThreadImage image;
    image.sample_ = {.thread = thread.thread,
                     .time_ns = static_cast<std::uint64_t>(target::clock_ns(CLOCK_MONOTONIC)),
                     .place = thread.instruction,
                     .known = 0};
    set(image.sample_, Register::kInstruction, thread.instruction);
    set(image.sample_, Register::kStackPointer, thread.stack_pointer);
    for (const auto& [sampled, general] : arch::host::kKeptByFunctions) {
        set(image.sample_, sampled, thread.general()[static_cast<std::size_t>(general)]);
    }
    RETURN_IF_ERROR(image.read_stack(memory));
    if (arch::host::kOwnErlangStack) {
        image.erlang_stack_.resize(kStackBytes);
        // In native code the register may have anything.
        const auto bytes =
            memory.read_some(image.sample_.at(Register::kErlangStack), image.erlang_stack_);
        image.erlang_stack_.resize(bytes.value_or(0));
    }
    return image;
}

Result<std::optional<ThreadImage>> ThreadImage::waiting(pid_t pid, pid_t thread,
                                                        memory::MemorySource& memory) {
    ASSIGN_OR_RETURN(const auto directory, target::ProcDirectory::open(pid));
    ASSIGN_OR_RETURN(const auto text, directory.read(fmt::format("task/{}/syscall", thread)));
    ASSIGN_OR_RETURN(const auto place, parse_call_place(text));
    if (!place) {
        return std::nullopt;
    }
    ThreadImage image;
    image.call_ = place->call;
    image.sample_ = {.thread = thread, .place = place->instruction, .known = 0};
    set(image.sample_, Register::kInstruction, place->instruction);
    set(image.sample_, Register::kStackPointer, place->stack_pointer);
    RETURN_IF_ERROR(image.read_stack(memory));
    return image;
}

Result<void> ThreadImage::read_stack(memory::MemorySource& memory) {
    stack_.resize(kStackBytes);
    ASSIGN_OR_RETURN(const auto bytes,
                     memory.read_some(sample_.at(Register::kStackPointer), stack_));
    stack_.resize(bytes);
    return {};
}

Sample ThreadImage::sample() const {
    auto sample = sample_;
    sample.stack = stack_;
    sample.erlang_stack = erlang_stack_;
    return sample;
}

}  // namespace beamdump::sampler
