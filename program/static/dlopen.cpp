// Part of the statically linked program only, where it takes the place of dlopen(): libdw looks for
// a client of debuginfod servers, which would load the machine's own C library, of any version or
// kind, into this process.

// The linker's name for what replaces a function (--wrap).
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" void* __wrap_dlopen(const char* /*file*/, int /*mode*/) {
    return nullptr;
}
