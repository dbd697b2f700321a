// Changes bytes of a complete dump and runs the same commands on it: every answer must be equal to
// the original one, fail with an error that names damage, or report by its exit status that it is
// incomplete.
//
// Input: changes of eight bytes each: what to do (1), a value (1), unused (2), where (4). The
// highest bit of what to do: to the whole dump, after the one changed so far was asked.

#include "cli/run.h"
#include "support/memory_file.h"
#include "support/text_output.h"
#include "unit/analyzer/sample_dump.h"
#include "unit/analyzer/sample_memory.h"

#include <libdump/base/bytes.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace beamdump;
using test::SampleDump;
using test::SampleProcess;

struct Answer {
    cli::Ended ended;
    std::string out;
    std::string err;
};

Answer ask(const std::vector<std::string>& arguments) {
    test::TextOutput out;
    test::TextOutput err;
    const auto ended = cli::run_to_end(arguments, out, err);
    return {ended, out.text(), err.text()};
}

const std::vector<std::vector<std::string>>& questions(const std::string& path) {
    static const std::vector<std::vector<std::string>> all = {
        {"summary", path, "--json"},
        {"summary", path, "--json", "--findings", "full"},
        {"processes", path, "--json", "--limit", "0"},
        {"processes", path, "--json", "--columns", "binaries,stack,heap,old_heap"},
        {"process", path, "alpha", "--json"},
        {"backtrace", path, "alpha"},
        {"backtrace", path, "alpha", "--lines"},
        {"messages", path, "alpha", "--json"},
        {"messages", path, "alpha", "--json", "--by", "sender"},
        {"search", path, "--text", "other", "--json"},
        {"dictionary", path, "alpha", "--json"},
        {"heap", path, "alpha", "--terms", "--retained", "--json"},
        {"allocators", path, "--json"},
        {"allocators", path, "--carriers", "--json", "--limit", "0"},
        {"crash-dump", path},
    };
    return all;
}

constexpr std::uint64_t kOtherCode = 0x10000;

/// A module whose file names are in the literals, as those that are not its own do.
void add_other_code(test::DumpBuilder& builder) {
    constexpr std::uint64_t kName = test::kLiteralBase;
    constexpr std::string_view kFile = "other.hrl";
    std::vector<std::uint64_t> literals;
    for (const char c : kFile) {
        literals.push_back(test::small_word(static_cast<unsigned char>(c)));
        literals.push_back(test::list_word(kName + (literals.size() + 1) * 8));
    }
    literals.back() = test::kNil;
    // More than a frame has: it is lost alone.
    literals.resize(literals.size() + 400, test::kNil);
    records::RunDirectory directory;
    *directory.add_region() = builder.add_region(format::OwnerKind::kNode, 0,
                                                 format::RegionKind::kLiterals, kName, literals);
    builder.trailer().set_literals_directory_offset(
        builder.append(format::RecordKind::kRunDirectory, directory));
    records::Module module;
    module.set_name_atom(test::kModuleAtom);
    module.add_file_name_words(test::list_word(kName));
    records::ModuleIndexPage page;
    auto* ref = page.add_module();
    ref->set_name_atom(test::kModuleAtom);
    ref->set_code_start(kOtherCode);
    ref->set_code_end(kOtherCode + 0x1000);
    ref->set_offset(builder.append(format::RecordKind::kModule, module));
    records::Functions functions;
    functions.add_start_address(kOtherCode);
    functions.add_name_atom(test::kLoopAtom);
    functions.add_arity(1);
    builder.append(format::RecordKind::kFunctions, functions);
    records::Lines lines;
    lines.add_address(kOtherCode + 0x40);
    lines.add_location(7);
    builder.append(format::RecordKind::kLines, lines);
    builder.trailer().add_module_index_offset(
        builder.append(format::RecordKind::kModuleIndexPage, page));
}

/// Many frames: code, atoms and each process's parts are apart, so that one can be lost alone.
std::vector<std::byte> dump_of_many_frames() {
    test::SampleLayout layout;
    layout.frame_bytes = 1024;
    SampleDump dump(1'700'000'100'000'000, layout);
    SampleProcess alpha = test::alpha_process();
    alpha.instruction_address = kOtherCode + 0x50;
    dump.add(alpha);
    for (std::uint64_t number = 2; number < 12; ++number) {
        SampleProcess other;
        other.number = number;
        other.heap.assign(600, test::small_word(number));
        dump.add(other);
        if (number == 6) {
            add_other_code(dump.builder());
        }
    }
    test::add_node_memory(dump);
    return dump.finish();
}

struct Whole {
    std::vector<std::byte> bytes = dump_of_many_frames();
    test::MemoryFile file{bytes};
    std::vector<Answer> answers;
};

const Whole& whole() {
    static const Whole made = [] {
        Whole dump;
        for (const auto& question : questions(dump.file.path())) {
            dump.answers.push_back(ask(question));
        }
        return dump;
    }();
    return made;
}

void change(std::vector<std::byte>& bytes, std::span<const std::byte> change) {
    const auto where = *load<std::uint32_t>(change, 4) % bytes.size();
    switch (std::to_integer<unsigned>(change[0]) % 8) {
        case 0:
            bytes[where] = change[1];
            return;
        case 1:
            bytes.resize(where + 1);
            return;
        case 2:
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(where), change[1]);
            return;
        default:
            bytes[where] ^= std::byte{1} << (std::to_integer<unsigned>(change[1]) % 8);
    }
}

[[noreturn]] void give_up(const std::vector<std::string>& question, const Answer& answer,
                          const Answer& expected) {
    std::fprintf(stderr, "%s of the changed dump: status %d\n%s%s\nof the whole dump:\n%s",
                 question.front().c_str(), static_cast<int>(answer.ended.status),
                 answer.out.c_str(), answer.err.c_str(), expected.out.c_str());
    std::abort();
}

/// Whether it says that the dump is not as it was written.
bool tells_of_damage(const Answer& answer) {
    if (answer.err.empty()) {
        return false;
    }
    if (answer.ended.status == cli::ExitStatus::kIncomplete) {
        return true;
    }
    if (answer.ended.status != cli::ExitStatus::kFailed || !answer.ended.error) {
        return false;
    }
    switch (*answer.ended.error) {
        case ErrorCode::kNotADump:
        case ErrorCode::kNewerVersion:
        case ErrorCode::kUnsupported:
        case ErrorCode::kTruncated:
        case ErrorCode::kCorrupt:
        case ErrorCode::kAbsent:
            return true;
        case ErrorCode::kNotFound:
            // The process's row or name is lost: another sentence says that.
            return std::ranges::count(answer.err, '\n') > 1;
        default:
            return false;
    }
}

void compare(const std::vector<std::byte>& bytes) {
    const Whole& dump = whole();
    // In the same file: its name is part of answers.
    dump.file.resize(0);
    dump.file.write(0, bytes);
    const auto& asked = questions(dump.file.path());
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const Answer answer = ask(asked[i]);
        const Answer& expected = dump.answers[i];
        const bool told = tells_of_damage(answer);
        const bool same = answer.ended.status == expected.ended.status &&
                          answer.out == expected.out && answer.err == expected.err;
        if (!same && !told) {
            give_up(asked[i], answer, expected);
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kChangeBytes = 8;
    constexpr std::size_t kMaxChanges = 1024;
    constexpr std::byte kAnew{0x80};
    const auto input = std::as_bytes(std::span(data, size));
    std::vector<std::byte> bytes = whole().bytes;
    for (std::size_t i = 0; i < std::min(size / kChangeBytes, kMaxChanges); ++i) {
        const auto next = input.subspan(i * kChangeBytes, kChangeBytes);
        if (i > 0 && (next[0] & kAnew) != std::byte{0}) {
            compare(bytes);
            bytes = whole().bytes;
        }
        change(bytes, next);
    }
    compare(bytes);
    return 0;
}
