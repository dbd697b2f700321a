#include "cli/run.h"
#include "render/shared/output.h"

#include <csignal>
#include <string>
#include <unistd.h>
#include <vector>

int main(int count, char** arguments) {
    using beamdump::render::DescriptorOutput;
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    DescriptorOutput out(STDOUT_FILENO, "standard output");
    DescriptorOutput err(STDERR_FILENO, "standard error");
    const std::vector<std::string> words(arguments + (count > 0 ? 1 : 0), arguments + count);
    return static_cast<int>(beamdump::cli::run(words, out, err));
}
