#include "cli/pager.h"
#include "cli/run.h"
#include "render/shared/output.h"

#include <libdump/base/system/first_to_go.h>

#include <csignal>
#include <string>
#include <unistd.h>
#include <vector>

int main(int count, char** arguments) {
    using beamdump::render::DescriptorOutput;
    beamdump::be_first_to_go();
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    beamdump::cli::PagedOutput out;
    DescriptorOutput err(STDERR_FILENO, "standard error");
    const std::vector<std::string> words(arguments + (count > 0 ? 1 : 0), arguments + count);
    auto status = beamdump::cli::run(words, out, err);
    if (const auto shown = out.finish(); !shown) {
        err.print("beamdump-analyze: {}\n", shown.error().message);
        err.flush();
        status = beamdump::cli::ExitStatus::kFailed;
    }
    return static_cast<int>(status);
}
