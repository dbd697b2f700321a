// Finds all sections of a crash dump, as every question about one begins, and prints how many there
// are of each kind, one a line: what a benchmark compares with `wc -l`.

#include <libdump/crash/text/crash_dump.h>

#include <iostream>

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: crash_dump_sections DUMP\n";
        return 2;
    }
    const auto dump = beamdump::crash::CrashDump::open(arguments[1], {});
    if (!dump) {
        std::cerr << dump.error().message << '\n';
        return 1;
    }
    for (const auto& [tag, sections] : dump->counts()) {
        std::cout << tag << ' ' << sections << '\n';
    }
    return 0;
}
