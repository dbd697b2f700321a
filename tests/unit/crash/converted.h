#pragma once

#include "crash_text.h"

#include <libdump/crash/import/convert.h>
#include <libdump/crash/open/lazy_process_context.h>
#include <libdump/model/dump.h>
#include <libdump/model/messages.h>
#include <libdump/term/term_printer.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace beamdump::crash::test {

/// The text of a crash dump, and what is made of it.
class Converted {
  public:
    explicit Converted(std::string_view text, const ConvertChoice& choice = {})
        : file_(text), path_(file_.folder() / "made.beamdump") {
        auto crash = CrashDump::open(file_.path(), {});
        if (!crash) {
            throw std::runtime_error(crash.error().message);
        }
        crash_ = std::make_unique<CrashDump>(std::move(*crash));
        auto sink = open_file_sink(path_, {.force = true});
        auto outcome = convert(*crash_, std::move(*sink), choice);
        if (!outcome) {
            throw std::runtime_error(outcome.error().message);
        }
        outcome_ = std::move(*outcome);
        auto dump = Dump::open(path_);
        if (!dump) {
            throw std::runtime_error(dump.error().message);
        }
        dump_ = std::move(*dump);
        supply_lazily(*dump_, outcome_.lazy_terms.get());
    }

    [[nodiscard]] Dump& dump() { return *dump_; }
    [[nodiscard]] const TextSource& text() const { return crash_->text(); }
    [[nodiscard]] const ConvertOutcome& outcome() const { return outcome_; }

    ProcessRun run(std::string_view name) {
        auto row = dump_->find_process(name);
        EXPECT_TRUE(row) << row.error().message;
        auto run = ProcessRun::load(dump_->reader(), *row);
        EXPECT_TRUE(run) << run.error().message;
        return std::move(*run);
    }

    /// The messages of a process, as terms in text.
    std::vector<std::string> messages(std::string_view name) {
        const auto process = run(name);
        const auto context = dump_->context_of(process);
        const auto scheme = scheme_of(static_cast<format::TermScheme>(dump_->node().term_scheme()));
        TermPrinter printer(*context, *scheme);
        MessageWalker walker(dump_->reader(), process);
        walker.seek(0);
        std::vector<std::string> texts;
        while (true) {
            auto message = walker.next();
            EXPECT_TRUE(message);
            if (!message || *message == nullptr) {
                return texts;
            }
            printer.start((*message)->term_word());
            auto& text = texts.emplace_back();
            while (printer.next(1000, text) > 0) {
            }
        }
    }

  private:
    TextFile file_;
    std::filesystem::path path_;
    std::unique_ptr<CrashDump> crash_;
    ConvertOutcome outcome_;
    std::unique_ptr<Dump> dump_;
};

/// Up to the sections of one process, <0.9.1>.
inline std::string head(int release) {
    return "=erl_crash_dump:0.5\nSun Nov 22 02:18:55 2026\nSlogan: boom\nSystem version: "
           "Erlang/OTP " +
           std::to_string(release) +
           " [erts-15.2.7] [source] [64-bit] [smp:2:4] [ds:2:2:10] [async-threads:1] [jit:ns]\n"
           "Atoms: 9747\n=memory\ntotal: 1000\nprocesses: 600\n"
           "=proc:<0.9.1>\nState: Waiting\nName: 'my server'\nSpawned as: proc_lib:init_p/5\n"
           "Spawned by: <0.8.0>\nMessage queue length: 3\nNumber of heap fragments: 0\n"
           "Heap fragment data: 0\nLink list: [<0.8.0>, #Port<0.4>, {to,<0.3.0>,#Ref<0.1.2.3>}]\n"
           "Reductions: 4411\nStack+heap: 610\nOldHeap: 0\nHeap unused: 8\nOldHeap unused: 0\n"
           "Memory: 5832\nProgram counter: 0x00007fca12a085bc (gen_server:loop/7 + 92)\narity = 0\n"
           "Internal State: ACT_PRIO_HIGH | USR_PRIO_HIGH | PRQ_PRIO_NORMAL\n";
}

inline const std::string kTail = "=node:'me@here'\n=end\n";

inline std::string with_messages(int release, std::string_view messages, std::string_view heap,
                                 std::string_view more = "") {
    return head(release) + "=proc_messages:<0.9.1>\n" + std::string(messages) +
           "=proc_stack:<0.9.1>\n=proc_heap:<0.9.1>\n" + std::string(heap) + std::string(more) +
           kTail;
}

/// Messages, and the lines of the heap that they lead to.
inline constexpr std::string_view kEveryKind =
    "H7FCA00000100:N\nH7FCA00000200:N\nH7FCA00000300:N\nI-5:N\nA5:hello:N\nP<0.7.0>:N\n"
    "p<0.12>:N\nN:N\nH7FCA00000400:N\nH7FCA00000500:N\nH7FCA00000600:N\n";
inline constexpr std::string_view kHeap =
    "7FCA00000100:t3:A2:ok,H7FCA00000120,H7FCA00000180\n"
    "7FCA00000120:lI1|H7FCA00000140\n"
    "7FCA00000140:lH7FCA00000150|A1:x\n"
    "7FCA00000150:F1A:1.50000000000000000000e+00\n"
    "7FCA00000180:B-36893488147419103232\n"
    "7FCA00000200:Yh3:YWJj\n"
    "7FCA00000300:Mf2:H7FCA00000340:I1,H7FCA00000200\n"
    "7FCA00000340:t2:A1:a,A1:b\n"
    "7FCA00000400:Yc7FCA00009000:2:3\n"
    "7FCA00000500:Mh2:2:H7FCA00000540,H7FCA00000560\n"
    "7FCA00000540:Mn1:H7FCA00000580\n"
    "7FCA00000560:lA1:k|A1:v\n"
    "7FCA00000580:lI7|I8\n"
    "7FCA00000600:P<8063.5.1>\n";
inline constexpr std::string_view kBinary = "=binary:7FCA00009000\n6:AAECYWJj\n";

}  // namespace beamdump::crash::test
