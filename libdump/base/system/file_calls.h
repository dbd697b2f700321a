#pragma once

#include <cstdint>
#include <filesystem>
#include <sys/stat.h>

/// What POSIX does not have, or not alike everywhere: linux/ has it for Linux, posix/ for all other
/// systems (docs/architecture.md). What the latter cannot do is left out there, as said below.
namespace beamdump::system {

/// When a file and its entry were changed last, in nanoseconds since 1970.
struct FileTimes {
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
};
FileTimes file_times(const struct stat& facts);

/// Gives a file a name that nothing has. 0, or errno: EEXIST if something has it.
int rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to);

/// Whether what is written to files of that directory counts as memory. posix: false.
bool is_in_memory(const std::filesystem::path& directory);

/// Has the kernel begin to write these bytes of a file to the disk. Best effort; posix: nothing.
void begin_writing(int file, std::uint64_t from, std::uint64_t until);
/// Waits until they are there, and drops their pages. Best effort; posix: nothing.
void drop_written(int file, std::uint64_t from, std::uint64_t until);
/// Drops all of a file's pages that are on the disk. Best effort; posix: nothing.
void drop_all_written(int file);

/// Opens a file without a name in that directory, for its owner only. Its descriptor, for a
/// Descriptor to own; -1: errno says why.
int open_unnamed(const std::filesystem::path& directory);
/// The same of a file that is in memory. -1: there is none; so in posix.
int open_in_memory();

/// Makes a file as large, with room on the disk for all of it. 0, or errno.
int make_room(int file, std::uint64_t bytes);

}  // namespace beamdump::system
