// Writes a crash dump as OTP 27 would, of about so many bytes, of which one process has half: for
// what must hold whatever a dump's size. Prints one line, JSON: what is in it.
//
//   generate_crash_dump FILE BYTES
//
// The monster, <0.100.0>, registered as monster, has
//   frames   of monster:descend/2; frame N, 1 the innermost, has {frame,N} in y0 and N in y1. A
//   tenth
//            of its bytes are its stack;
//   messages {order,N,<<"order N">>}, N from 0. A fiftieth of its bytes are its message section;
//   state    in the dictionary: {state,[{user,N,<<"user N">>,N + 0.5}, ...]}, N from 1; the cells
//   of
//            the list go down in memory, as those of a list that was built from its end.
// The other half are processes <0.N.0>, N from 1000, each with the dictionary {numbers,[1,2,...]}
// and a message in every tenth.

#include "text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace {

using beamdump::test::append_base64;
using beamdump::test::Output;

constexpr std::uint64_t kWordBytes = 8;
constexpr std::uint64_t kConsWords = 2;
constexpr std::uint64_t kFloatWords = 2;

constexpr std::uint64_t kHeapStart = 0x7F1000000000;
constexpr std::uint64_t kStackTop = 0x7E1000000000;
constexpr std::uint64_t kSmallHeaps = 0x7D1000000000;
constexpr std::uint64_t kCode = 0xF2A72DC4;
constexpr std::uint64_t kFirstSmallPid = 1000;
constexpr std::uint64_t kNumbersPerProcess = 400;

// As they come out, on the average; the file's size is only about what was asked for.
constexpr std::uint64_t kStackBytesPerFrame = 92;
constexpr std::uint64_t kHeapBytesPerFrame = 40;
constexpr std::uint64_t kBytesPerMessage = 16;
constexpr std::uint64_t kHeapBytesPerMessage = 95;
constexpr std::uint64_t kBytesPerUser = 175;
constexpr std::uint64_t kBytesPerSmallProcess = 14000;

constexpr std::uint64_t tuple_words(std::uint64_t arity) {
    return 1 + arity;
}

/// A heap binary: header, size, bytes.
constexpr std::uint64_t binary_words(std::size_t bytes) {
    return 2 + (bytes + kWordBytes - 1) / kWordBytes;
}

/// The words of a heap, given out one after the other.
class Words {
  public:
    explicit Words(std::uint64_t start) : next_(start), start_(start) {}

    std::uint64_t take(std::uint64_t words) {
        const auto address = next_;
        next_ += words * kWordBytes;
        return address;
    }
    [[nodiscard]] std::uint64_t taken() const { return (next_ - start_) / kWordBytes; }

  private:
    std::uint64_t next_;
    std::uint64_t start_;
};

/// How much of everything; what the program prints.
struct Plan {
    std::uint64_t frames;
    std::uint64_t messages;
    std::uint64_t users;
    std::uint64_t processes;  // beside the monster

    explicit Plan(std::uint64_t bytes) {
        const auto half = bytes / 2;
        frames = std::max<std::uint64_t>(1, half / 10 / kStackBytesPerFrame);
        messages = std::max<std::uint64_t>(1, half / 50 / kBytesPerMessage);
        const auto used = frames * (kStackBytesPerFrame + kHeapBytesPerFrame) +
                          messages * (kBytesPerMessage + kHeapBytesPerMessage);
        users = std::max<std::uint64_t>(1, (half - std::min(half, used)) / kBytesPerUser);
        processes = std::max<std::uint64_t>(1, (bytes - half) / kBytesPerSmallProcess);
    }
};

/// The monster's addresses. A message's tuple comes with its binary after it, of the words that the
/// largest needs.
class Monster {
  public:
    explicit Monster(const Plan& plan)
        : plan_(plan),
          message_words_(tuple_words(3) +
                         binary_words(fmt::formatted_size("order {}", plan.messages))),
          user_words_(tuple_words(4) + binary_words(fmt::formatted_size("user {}", plan.users)) +
                      kFloatWords),
          frames_at_(kHeapStart),
          messages_at_(frames_at_ + plan.frames * tuple_words(2) * kWordBytes),
          users_at_(messages_at_ + plan.messages * message_words_ * kWordBytes),
          cells_at_(users_at_ + plan.users * user_words_ * kWordBytes),
          state_at_(cells_at_ + plan.users * kConsWords * kWordBytes),
          end_(state_at_ + 2 * tuple_words(2) * kWordBytes) {}

    [[nodiscard]] std::uint64_t heap_words() const { return (end_ - kHeapStart) / kWordBytes; }
    [[nodiscard]] std::uint64_t stack_words() const { return plan_.frames * kFrameWords + 1; }

    void put_messages(Output& out) const {
        out.put("=proc_messages:<0.100.0>\n");
        for (std::uint64_t i = 0; i < plan_.messages; ++i) {
            out.put("H{:X}:N\n", message_at(i));
        }
    }

    void put_dictionary(Output& out) const {
        out.put("=proc_dictionary:<0.100.0>\nH{:X}\n", state_at_);
    }

    void put_stack(Output& out) const {
        out.put("=proc_stack:<0.100.0>\n");
        std::uint64_t address = kStackTop;
        for (std::uint64_t i = 1; i <= plan_.frames; ++i) {
            out.put("0x{:016x}:SReturn addr 0x{:X} (monster:descend/2 + 88)\ny0:H{:X}\ny1:I{}\n",
                    address, kCode, frame_at(i), i);
            address += kFrameWords * kWordBytes;
        }
        out.put("0x{:016x}:SReturn addr 0x{:X} (<terminate process normally>)\n", address,
                kCode + 4096);
    }

    void put_heap(Output& out) const {
        out.put("=proc_heap:<0.100.0>\n");
        for (std::uint64_t i = 1; i <= plan_.frames; ++i) {
            out.put("{:X}:t2:A5:frame,I{}\n", frame_at(i), i);
        }
        std::string text;
        for (std::uint64_t i = 0; i < plan_.messages; ++i) {
            const auto at = message_at(i);
            const auto binary_at = at + tuple_words(3) * kWordBytes;
            out.put("{:X}:t3:A5:order,I{},H{:X}\n", at, i, binary_at);
            put_binary(out, binary_at, fmt::format("order {}", i), text);
        }
        out.put("{:X}:t2:A5:state,H{:X}\n", state_at_, state_at_ + tuple_words(2) * kWordBytes);
        out.put("{:X}:t2:A5:state,H{:X}\n", state_at_ + tuple_words(2) * kWordBytes, cell_at(1));
        for (std::uint64_t i = 1; i <= plan_.users; ++i) {
            put_user(out, i, text);
        }
    }

  private:
    static constexpr std::uint64_t kFrameWords = 3;

    [[nodiscard]] std::uint64_t frame_at(std::uint64_t number) const {
        return frames_at_ + (number - 1) * tuple_words(2) * kWordBytes;
    }
    [[nodiscard]] std::uint64_t message_at(std::uint64_t number) const {
        return messages_at_ + number * message_words_ * kWordBytes;
    }
    [[nodiscard]] std::uint64_t cell_at(std::uint64_t number) const {
        return cells_at_ + (plan_.users - number) * kConsWords * kWordBytes;
    }

    static void put_binary(Output& out, std::uint64_t at, std::string_view bytes,
                           std::string& text) {
        text.clear();
        append_base64(text, bytes);
        out.put("{:X}:Yh{:X}:{}\n", at, bytes.size(), text);
    }

    /// As the VM prints a float, with 20 digits.
    static std::string and_a_half(std::uint64_t number) {
        const auto digits = fmt::format("{}5", number);
        return fmt::format("{}.{:0<20}e+{:02}", digits[0], digits.substr(1), digits.size() - 2);
    }

    void put_user(Output& out, std::uint64_t number, std::string& text) const {
        const auto at = users_at_ + (number - 1) * user_words_ * kWordBytes;
        const auto float_at = at + tuple_words(4) * kWordBytes;
        const auto binary_at = float_at + kFloatWords * kWordBytes;
        const auto tail = number == plan_.users ? 0 : cell_at(number + 1);
        if (tail == 0) {
            out.put("{:X}:lH{:X}|N\n", cell_at(number), at);
        } else {
            out.put("{:X}:lH{:X}|H{:X}\n", cell_at(number), at, tail);
        }
        out.put("{:X}:t4:A4:user,I{},H{:X},H{:X}\n", at, number, binary_at, float_at);
        put_binary(out, binary_at, fmt::format("user {}", number), text);
        const auto value = and_a_half(number);
        out.put("{:X}:F{:X}:{}\n", float_at, value.size(), value);
    }

    Plan plan_;
    std::uint64_t message_words_;
    std::uint64_t user_words_;
    std::uint64_t frames_at_;
    std::uint64_t messages_at_;
    std::uint64_t users_at_;
    std::uint64_t cells_at_;
    std::uint64_t state_at_;
    std::uint64_t end_;
};

void put_header(Output& out, std::uint64_t processes_bytes) {
    out.put(
        "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: generated\n"
        "System version: Erlang/OTP 27 [erts-15.2.7] [source] [64-bit] [smp:2:2] [ds:2:2:10] "
        "[async-threads:1] [jit:ns]\nTaints: \nAtoms: 12\nCalling Thread: scheduler:1\n"
        "=scheduler:1\nScheduler Sleep Info Flags: \nScheduler Sleep Info Aux Work: \n"
        "Current Port: \nRun Queue Max Length: 0\nRun Queue High Length: 0\n"
        "Run Queue Normal Length: 0\nRun Queue Low Length: 0\nRun Queue Port Length: 0\n"
        "Run Queue Flags: OUT_OF_WORK\nCurrent Process: \n");
    out.put(
        "=memory\ntotal: {}\nprocesses: {}\nprocesses_used: {}\nsystem: 1000000\natom: 100000\n"
        "atom_used: 90000\nbinary: 1000\ncode: 500000\nets: 0\n",
        processes_bytes + 1000000, processes_bytes, processes_bytes);
}

struct ProcessFacts {
    std::uint64_t number = 0;
    std::string_view name;
    std::string_view spawned_as;
    std::uint64_t messages = 0;
    std::uint64_t heap_words = 0;
    std::uint64_t stack_words = 0;
    std::string_view current;
};

void put_process(Output& out, const ProcessFacts& facts) {
    out.put("=proc:<0.{}.0>\nState: Waiting\n", facts.number);
    if (!facts.name.empty()) {
        out.put("Name: {}\n", facts.name);
    }
    const auto words = facts.heap_words + facts.stack_words;
    out.put(
        "Spawned as: {}\nSpawned by: <0.9.0>\nMessage queue length: {}\n"
        "Number of heap fragments: 0\nHeap fragment data: 0\nLink list: []\nReductions: {}\n"
        "Stack+heap: {}\nOldHeap: 0\nHeap unused: {}\nOldHeap unused: 0\nBinVHeap: 0\n"
        "OldBinVHeap: 0\nBinVHeap unused: 46422\nOldBinVHeap unused: 46422\nMemory: {}\n",
        facts.spawned_as, facts.messages, facts.number, words, facts.stack_words,
        words * kWordBytes + 1000);
    out.put(
        "Program counter: 0x{:016x} ({} + 80)\narity = 0\n"
        "Internal State: ACT_PRIO_NORMAL | USR_PRIO_NORMAL | PRQ_PRIO_NORMAL\n",
        0x7FCA00000000 + kCode, facts.current);
}

constexpr std::uint64_t kSmallHeapWords =
    kNumbersPerProcess * kConsWords + tuple_words(2) + tuple_words(1);

ProcessFacts small_process(std::uint64_t index) {
    return {.number = kFirstSmallPid + index,
            .name = {},
            .spawned_as = "worker:init/1",
            .messages = index % 10 == 0 ? 1U : 0U,
            .heap_words = kSmallHeapWords,
            .stack_words = 2,
            .current = "worker:loop/1"};
}

void put_small_terms(Output& out, std::uint64_t index) {
    const auto pid = kFirstSmallPid + index;
    Words words(kSmallHeaps + index * (kSmallHeapWords + 100) * kWordBytes);
    const auto entry = words.take(tuple_words(2));
    const auto message = words.take(tuple_words(1));
    const auto cells = words.take(kNumbersPerProcess * kConsWords);
    if (index % 10 == 0) {
        out.put("=proc_messages:<0.{}.0>\nH{:X}:N\n", pid, message);
    }
    out.put("=proc_dictionary:<0.{}.0>\nH{:X}\n", pid, entry);
    out.put(
        "=proc_stack:<0.{}.0>\ny0:H{:X}\n0x{:016x}:SReturn addr 0x{:X} "
        "(<terminate process normally>)\n",
        pid, cells, words.take(1), kCode + 4096);
    out.put("=proc_heap:<0.{}.0>\n{:X}:t2:A7:numbers,H{:X}\n", pid, entry, cells);
    if (index % 10 == 0) {
        out.put("{:X}:t1:A5:hello\n", message);
    }
    for (std::uint64_t i = 1; i <= kNumbersPerProcess; ++i) {
        const auto at = cells + (i - 1) * kConsWords * kWordBytes;
        if (i == kNumbersPerProcess) {
            out.put("{:X}:lI{}|N\n", at, i);
        } else {
            out.put("{:X}:lI{}|H{:X}\n", at, i, at + kConsWords * kWordBytes);
        }
    }
}

void put_end(Output& out) {
    out.put(
        "=persistent_terms\n=literals\n=atoms\nhello\nnumbers\nstate\nuser\norder\nframe\ndescend\n"
        "monster\nloop\nworker\n'nonode@nohost'\ntrue\n=end\n");
}

void generate(Output& out, const Plan& plan) {
    const Monster monster(plan);
    const auto words = monster.heap_words() + monster.stack_words();
    put_header(out, (words + plan.processes * kSmallHeapWords) * kWordBytes);
    put_process(out, {.number = 100,
                      .name = "monster",
                      .spawned_as = "monster:start/1",
                      .messages = plan.messages,
                      .heap_words = monster.heap_words(),
                      .stack_words = monster.stack_words(),
                      .current = "monster:descend/2"});
    for (std::uint64_t i = 0; i < plan.processes; ++i) {
        put_process(out, small_process(i));
    }
    out.put("=node:'nonode@nohost'\n=no_distribution\n");
    out.put("=loaded_modules\nCurrent code: 2000\nOld code: 0\n");
    out.put("=mod:monster\nCurrent size: 1000\n=mod:worker\nCurrent size: 1000\n");
    monster.put_messages(out);
    monster.put_dictionary(out);
    monster.put_stack(out);
    monster.put_heap(out);
    for (std::uint64_t i = 0; i < plan.processes; ++i) {
        put_small_terms(out, i);
    }
    put_end(out);
    out.flush();
}

}  // namespace

int main(int count, char** arguments) {
    const std::span words(arguments, static_cast<std::size_t>(count));
    std::uint64_t bytes = 0;
    if (words.size() == 3) {
        const char* end = words[2] + std::strlen(words[2]);
        if (std::from_chars(words[2], end, bytes).ptr != end) {
            bytes = 0;
        }
    }
    if (bytes == 0) {
        fmt::print(stderr, "usage: generate_crash_dump FILE BYTES\n");
        return 2;
    }
    const Plan plan(bytes);
    Output out(words[1]);
    generate(out, plan);
    fmt::print(
        "{{\"bytes\":{},\"monster\":\"<0.100.0>\",\"frames\":{},\"messages\":{},\"users\":{},"
        "\"processes\":{}}}\n",
        out.bytes(), plan.frames, plan.messages, plan.users, plan.processes + 1);
    return 0;
}
