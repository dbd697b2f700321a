#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace beamdump::testing {

/// The lines of a file of the term oracle (tests/unit/term/oracle): what a VM printed.
inline std::vector<std::string> oracle_lines(const std::string& name) {
    std::ifstream file(std::string(BEAMDUMP_TERM_ORACLE) + "/" + name, std::ios::binary);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    return lines;
}

}  // namespace beamdump::testing
