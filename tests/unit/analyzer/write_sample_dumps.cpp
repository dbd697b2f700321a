// Writes the sample dumps into a directory: sample, later, cut, inferred, tables, node_memory,
// recording, watched, crashed, emulator, fewer_atoms, more_atoms.
#include "sample_crash.h"
#include "sample_emulator.h"
#include "sample_history.h"
#include "sample_memory.h"
#include "sample_tables.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

void write(const std::filesystem::path& path, const std::vector<std::byte>& bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file) {
        throw std::runtime_error("cannot write " + path.string());
    }
}

/// A node with so many atoms that differ in letters in their middle.
std::vector<std::byte> with_atoms(int count) {
    constexpr int kLetters = 26;
    beamdump::test::SampleDump dump;
    for (int number = 0; number < count; ++number) {
        std::string name = "uid_";
        for (int digit = 1; digit < kLetters * kLetters * kLetters; digit *= kLetters) {
            name += static_cast<char>('a' + number / digit % kLetters);
        }
        dump.builder().add_atoms(8 + number, {name + "_x"});
    }
    dump.add(beamdump::test::alpha_process());
    return dump.finish();
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fputs("usage: write_sample_dumps DIRECTORY\n", stderr);
        return 2;
    }
    const std::filesystem::path directory(arguments[1]);
    std::vector<std::byte> sample = beamdump::test::sample_dump();
    write(directory / "sample.beamdump", sample);
    sample.resize(sample.size() - 60);
    write(directory / "cut.beamdump", sample);
    write(directory / "tables.beamdump", beamdump::test::sample_dump_with_tables());
    beamdump::records::History end;
    end.set_node_ended_us(beamdump::test::kHistoryBegin + 600'000'000);
    end.set_oom_kills_at_end(3);
    write(directory / "recording.beamdump", beamdump::test::sample_recording(end));
    write(directory / "later.beamdump", beamdump::test::later_sample_dump());
    beamdump::test::SampleDump watched(beamdump::test::kHistoryBegin + 600'000'000);
    watched.add(beamdump::test::alpha_process());
    beamdump::test::add_history(watched.builder());
    write(directory / "watched.beamdump", watched.finish());
    beamdump::test::SampleDump memory;
    beamdump::test::add_node_memory(memory);
    write(directory / "node_memory.beamdump", memory.finish());
    beamdump::test::SampleDump crashed;
    beamdump::test::add_schedulers(crashed.builder());
    crashed.add(beamdump::test::alpha_process());
    beamdump::test::add_crash(crashed.builder());
    write(directory / "crashed.beamdump", crashed.finish());
    beamdump::test::SampleDump emulator;
    beamdump::test::add_schedulers(emulator.builder());
    emulator.add(beamdump::test::alpha_process());
    beamdump::test::add_emulator(emulator.builder());
    write(directory / "emulator.beamdump", emulator.finish());
    beamdump::test::SampleDump blocks;
    beamdump::test::add_blocks(blocks, true);
    write(directory / "blocks.beamdump", blocks.finish());
    write(directory / "fewer_atoms.beamdump", with_atoms(600));
    write(directory / "more_atoms.beamdump", with_atoms(1600));
    write(directory / "inferred.beamdump",
          beamdump::test::sample_dump({.name = "otp-25-inferred",
                                       .release = std::nullopt,
                                       .inferred_from = {"otp-24", "otp-26"},
                                       .unverified_fields = {"Process.reds", "Process.catches"},
                                       .left_out = {"undecoded messages of other nodes"}}));
    return 0;
}
