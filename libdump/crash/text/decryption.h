#pragma once

#include <libdump/base/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace beamdump::crash {

/// The first bytes of an encrypted crash dump.
inline constexpr std::string_view kEncryptedMagic = "ENC0";

/// Decrypts an encrypted crash dump piece by piece. Its form (erl_crash_dump.c, OTP 29.1, of a VM
/// built with --enable-encrypted-crash-dumps): kEncryptedMagic, 16 bytes of initialization vector,
/// the length of a secret in two bytes, little-endian, the secret, then the text by AES-256-CBC
/// with padding. The secret is the AES key, encapsulated for a public key by RSASVE or ML-KEM.
class Decryption {
  public:
    /// `key`: a file with the private key, in PEM form and without a passphrase. `dump` is named in
    /// errors. kNotFound and others of reading it; kUnsupported: it is no such key.
    static Result<Decryption> open(const std::filesystem::path& key, std::string dump);
    Decryption(Decryption&&) noexcept;
    Decryption& operator=(Decryption&&) noexcept;
    ~Decryption();

    /// Appends to `text` what the next bytes of the file tell. kUnsupported if the key is not the
    /// dump's, which its first 16 bytes show.
    Result<void> add(std::span<const char> bytes, std::string& text);
    /// The file's end: the rest of the text. Gives why the text is not whole; empty if it is.
    std::string finish(std::string& text);

  private:
    class Impl;
    explicit Decryption(std::unique_ptr<Impl> impl);

    std::unique_ptr<Impl> impl_;
};

}  // namespace beamdump::crash
