// Prints the layout that a dump was read by, as its first record has it.

#include <libdump/model/dump.h>

#include <iostream>

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: layout_of DUMP\n";
        return 2;
    }
    auto dump = beamdump::Dump::open(arguments[1], {});
    if (!dump) {
        std::cerr << dump.error().message << '\n';
        return 1;
    }
    std::cout << (*dump)->capture().layout_json() << '\n';
    return 0;
}
