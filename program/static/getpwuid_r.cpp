// Part of the statically linked program only, where it takes the place of the C library's function:
// that one loads the shared libraries which /etc/nsswitch.conf names, and these are made for the C
// library of the root that the program runs in, of another version or kind.

#include <cstdio>
#include <memory>
#include <pwd.h>

/// See getpwuid_r(3); reads /etc/passwd only.
extern "C" int getpwuid_r(uid_t uid, passwd* entry, char* text, std::size_t bytes, passwd** found) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/etc/passwd", "re"),
                                                               &std::fclose);
    *found = nullptr;
    while (file && ::fgetpwent_r(file.get(), entry, text, bytes, found) == 0) {
        if (entry->pw_uid == uid) {
            return 0;
        }
    }
    *found = nullptr;
    return 0;
}
