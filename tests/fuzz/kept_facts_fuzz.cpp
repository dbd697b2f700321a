// Changes what was kept of a crash dump, in frames whose checksums hold, and asks it: whatever it
// says, the answer is one or an error.
//
// Input: changes of eight bytes each: a value (1), unused (3), where (4).

#include "support/memory_file.h"
#include "support/memory_sink.h"
#include "unit/crash/converted.h"

#include <libdump/base/bytes.h>
#include <libdump/crash/cache/facts_dump.h>
#include <libdump/write/dump_writer.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace {

using namespace beamdump;

/// A crash dump with some of everything, and the facts kept of it.
struct Kept {
    Kept() : text(make_text()) {
        const auto crash = crash::CrashDump::open(text.path(), {});
        const auto content = std::make_shared<test::SinkContent>();
        if (!crash ||
            !crash::convert_facts(*crash, std::make_unique<test::MemorySink>(content), "key")) {
            std::abort();
        }
        bytes = content->bytes;
    }
    static std::string make_text() {
        using namespace crash::test;
        return with_messages(27, kEveryKind, kHeap,
                             std::string(kBinary) + "=literals\n7FCA00000900:lI1|N\n" +
                                 "=persistent_terms\nA1:k|H7FCA00000900\n");
    }
    crash::test::TextFile text;
    std::vector<std::byte> bytes;
};

const Kept& kept() {
    static const Kept made;
    return made;
}

/// The same records in the same frames, some of their bytes changed; nothing if they are no records
/// any more.
std::vector<std::byte> changed(std::span<const std::byte> changes) {
    const test::MemoryFile file(kept().bytes);
    auto reader = DumpReader::open(file.path());
    std::vector<std::byte> flat(reader->flat_bytes());
    if (!reader->read(0, flat)) {
        std::abort();
    }
    constexpr std::size_t kChangeBytes = 8;
    for (; changes.size() >= kChangeBytes; changes = changes.subspan(kChangeBytes)) {
        flat[*load<std::uint32_t>(changes, 4) % flat.size()] = changes[0];
    }
    auto trailer = reader->trailer();
    const auto content = std::make_shared<test::SinkContent>();
    DumpWriterOptions options;
    options.frame_bytes = reader->header().frame_bytes;
    options.threads = 1;
    auto writer = DumpWriter::create(std::make_unique<test::MemorySink>(content), options);
    std::size_t at = 0;
    for (const auto& frame : reader->written_frames().frames) {
        if (!writer->append_frame(std::span(flat).subspan(at, frame.content_bytes))) {
            return {};
        }
        at += frame.content_bytes;
    }
    return writer->finish(trailer) ? content->bytes : std::vector<std::byte>();
}

void ask(const std::vector<std::byte>& bytes, const crash::ConvertChoice& choice) {
    const test::MemoryFile file(bytes);
    auto dump = Dump::open(file.path());
    if (!dump) {
        return;
    }
    const auto index = crash::read_index(**dump);
    if (!index) {
        return;
    }
    auto text = crash::CrashDump::restore(kept().text.source(), std::make_unique<Budget>(), *index);
    if (!text) {
        return;
    }
    const auto facts = crash::read_facts(**dump, *text, choice);
    if (!facts) {
        return;
    }
    const auto content = std::make_shared<test::SinkContent>();
    content->bytes.assign(bytes.begin(),
                          bytes.begin() + static_cast<std::ptrdiff_t>(facts->frames.file_bytes));
    const auto outcome =
        crash::extend(*text, std::make_unique<test::MemorySink>(content), *facts, choice);
    if (!outcome) {
        return;
    }
    const test::MemoryFile made(content->bytes);
    const auto extended = Dump::open(made.path());
    if (!extended || (*extended)->reader().damage()) {
        std::abort();  // what extend() writes can be read
    }
    crash::supply_lazily(**extended, outcome->lazy_terms.get());
    (void)(*extended)->processes().rows(std::vector<std::uint64_t>{0});
    const auto row = (*extended)->find_process("<0.9.1>");
    const auto run = row ? ProcessRun::load((*extended)->reader(), *row)
                         : Result<ProcessRun>(std::unexpected(row.error()));
    if (!run) {
        return;
    }
    const auto context = (*extended)->context_of(*run);
    std::vector<std::uint64_t> words(64);
    (void)context->words(0x7FCA00000100, words);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 512;
    const auto bytes = changed(std::as_bytes(std::span(data, std::min(size, kMost))));
    if (bytes.empty()) {
        return 0;
    }
    crash::ConvertChoice choice;
    choice.process = "<0.9.1>";
    choice.heaps = crash::ConvertChoice::Heaps::kNone;
    ask(bytes, choice);
    choice.heaps = crash::ConvertChoice::Heaps::kOne;
    ask(bytes, choice);
    choice.lazily_from = 0;
    ask(bytes, choice);
    return 0;
}
