#include <program/last_words.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>
#include <sys/uio.h>
#include <unistd.h>

namespace beamdump {

void end_with_a_sentence_on_terminate() {
    std::set_terminate([] {
        constexpr std::string_view kWords =
            ": this program failed for an unknown reason, most likely lack of memory: raise its "
            "limit (ulimit -v), or give --threads 1\n";
        static std::atomic_flag told;
        while (told.test_and_set()) {
            ::pause();  // another thread is about to end the program
        }
        const std::array<iovec, 2> parts{
            iovec{program_invocation_short_name, std::strlen(program_invocation_short_name)},
            iovec{const_cast<char*>(kWords.data()), kWords.size()}};
        [[maybe_unused]] const auto written = ::writev(STDERR_FILENO, parts.data(), parts.size());
        ::_exit(1);
    });
}

}  // namespace beamdump
