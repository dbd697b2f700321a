// Runs a fuzz target without a fuzzer on each file given and on each file in the directories given.
//
//   NAME_replay [--seconds N [--seed S]] FILE|DIRECTORY...
//
// With --seconds it goes on for so long with changed copies of them. The seed is printed: the same
// seed and files give the same inputs in the same order.

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Random = std::mt19937_64;

struct Options {
    std::chrono::seconds seconds{0};
    std::uint64_t seed = std::random_device()();
    std::vector<std::filesystem::path> paths;
};

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
    return done.ec == std::errc{} && done.ptr == text.data() + text.size() ? std::optional(value)
                                                                           : std::nullopt;
}

std::optional<Options> parse(std::span<char*> arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view word = arguments[i];
        if (word != "--seconds" && word != "--seed") {
            options.paths.emplace_back(word);
            continue;
        }
        const auto value = ++i < arguments.size() ? number(arguments[i]) : std::nullopt;
        if (!value) {
            return std::nullopt;
        }
        if (word == "--seed") {
            options.seed = *value;
        } else {
            options.seconds = std::chrono::seconds(*value);
        }
    }
    return options;
}

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The files, in an order that does not depend on the file system.
std::vector<std::filesystem::path> files_of(const std::vector<std::filesystem::path>& paths) {
    std::vector<std::filesystem::path> files;
    for (const auto& path : paths) {
        if (std::filesystem::is_directory(path)) {
            for (const auto& entry : std::filesystem::directory_iterator(path)) {
                files.push_back(entry.path());
            }
        } else {
            files.push_back(path);
        }
    }
    std::ranges::sort(files);
    return files;
}

void run(std::string_view input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

/// One change: a byte, a word (often one that stands elsewhere in it), a piece moved or cut off.
void change(std::string& input, Random& random) {
    constexpr std::size_t kWordBytes = 8;
    if (input.size() < 2 * kWordBytes) {
        input.append(kWordBytes, static_cast<char>(random()));
        return;
    }
    const auto word_place = [&] { return random() % (input.size() / kWordBytes) * kWordBytes; };
    const std::size_t to = word_place();
    std::uint64_t word = 0;
    switch (random() % 6) {
        case 0:
            input[random() % input.size()] ^= static_cast<char>(1U << random() % 8);
            return;
        case 1:
            input[random() % input.size()] = static_cast<char>(random());
            return;
        case 2:
            std::memmove(input.data() + to, input.data() + word_place(), kWordBytes);
            return;
        case 3:
            std::memcpy(&word, input.data() + to, kWordBytes);
            word += random() % 128 - 64;
            std::memcpy(input.data() + to, &word, kWordBytes);
            return;
        case 4:
            word = 0xFFULL << 56U | random();
            std::memcpy(input.data() + to, &word, kWordBytes);
            return;
        default:
            if (random() % 8 == 0) {
                input.resize(input.size() - random() % kWordBytes - 1);
            } else {
                input.append(input, to, kWordBytes);
            }
            return;
    }
}

std::uint64_t run_changed(const std::vector<std::string>& inputs, const Options& options) {
    std::fprintf(stderr, "changed inputs, seed %llu\n",
                 static_cast<unsigned long long>(options.seed));
    Random random(options.seed);
    const auto end = std::chrono::steady_clock::now() + options.seconds;
    std::uint64_t runs = 0;
    for (; std::chrono::steady_clock::now() < end; ++runs) {
        std::string input = inputs[random() % inputs.size()];
        for (std::uint64_t changes = 1 + random() % 8; changes > 0; --changes) {
            change(input, random);
        }
        run(input);
    }
    return runs;
}

}  // namespace

int main(int count, char** arguments) {
    const auto options = parse(std::span(arguments, static_cast<std::size_t>(count)).subspan(1));
    if (!options) {
        std::fprintf(stderr, "usage: replay [--seconds N [--seed S]] FILE|DIRECTORY...\n");
        return 2;
    }
    std::vector<std::string> inputs;
    for (const auto& path : files_of(options->paths)) {
        inputs.push_back(content_of(path));
        std::fprintf(stderr, "%s: %zu bytes\n", path.c_str(), inputs.back().size());
        run(inputs.back());
    }
    std::fprintf(stderr, "%zu inputs\n", inputs.size());
    if (inputs.empty()) {
        return 1;
    }
    if (options->seconds.count() > 0) {
        std::fprintf(stderr, "%llu changed inputs\n",
                     static_cast<unsigned long long>(run_changed(inputs, *options)));
    }
    return 0;
}
