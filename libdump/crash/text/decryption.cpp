#include <libdump/base/bytes.h>
#include <libdump/base/return_if_error.h>
#include <libdump/base/system_error.h>
#include <libdump/crash/text/decryption.h>

#include <fmt/format.h>

#include <fstream>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <optional>
#include <vector>

namespace beamdump::crash {

struct FreeOpenssl {
    void operator()(BIO* of) const { BIO_free(of); }
    void operator()(EVP_PKEY* of) const { EVP_PKEY_free(of); }
    void operator()(EVP_PKEY_CTX* of) const { EVP_PKEY_CTX_free(of); }
    void operator()(EVP_CIPHER_CTX* of) const { EVP_CIPHER_CTX_free(of); }
};
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeOpenssl>;

namespace {

constexpr std::size_t kBlockBytes = 16;
constexpr std::size_t kVectorBytes = kBlockBytes;
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kLengthAt = kEncryptedMagic.size() + kVectorBytes;
constexpr std::size_t kSecretAt = kLengthAt + sizeof(std::uint16_t);
/// A key in PEM form has some thousand bytes.
constexpr std::size_t kMostKeyFileBytes = 1U << 20U;

/// Notes that a passphrase is needed, and has none.
int no_passphrase(char* /*into*/, int /*bytes*/, int /*writing*/, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
}

Result<std::string> read_key_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(kMostKeyFileBytes, '\0');
    if (!file.read(text.data(), static_cast<std::streamsize>(text.size())) && !file.eof()) {
        return std::unexpected(cannot_open(path.string()));
    }
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

Result<PrivateKey> read_key(const std::filesystem::path& path) {
    // Neither the system's configuration of the library nor the environment changes what it does.
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
    ASSIGN_OR_RETURN(auto text, read_key_file(path));
    const std::unique_ptr<BIO, FreeOpenssl> memory(
        BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    bool passphrase = false;
    PrivateKey key(PEM_read_bio_PrivateKey(memory.get(), nullptr, no_passphrase, &passphrase));
    const bool is_public = text.find("PUBLIC KEY-----") != std::string::npos ||
                           text.find("CERTIFICATE-----") != std::string::npos;
    OPENSSL_cleanse(text.data(), text.size());
    if (key && (EVP_PKEY_is_a(key.get(), "RSA") == 1 ||
                std::string_view(EVP_PKEY_get0_type_name(key.get())).starts_with("ML-KEM"))) {
        return key;
    }
    return fail(
        ErrorCode::kUnsupported,
        key ? fmt::format(
                  "{} has a key of the kind {}; crash dumps are encrypted for RSA or ML-KEM",
                  path.string(), EVP_PKEY_get0_type_name(key.get()))
        : passphrase
            ? fmt::format("the key in {} needs a passphrase: decrypt it first (openssl pkey)",
                          path.string())
        : is_public ? fmt::format("{} has a public key: its private key decrypts", path.string())
                    : fmt::format("{} has no private key in PEM form that this program knows ({})",
                                  path.string(), OpenSSL_version(OPENSSL_VERSION)));
}

}  // namespace

class Decryption::Impl {
  public:
    Impl(PrivateKey key, std::string key_name, std::string dump)
        : key_(std::move(key)), key_name_(std::move(key_name)), dump_(std::move(dump)) {}

    Result<void> add(std::span<const char> bytes, std::string& text) {
        held_.insert(held_.end(), bytes.begin(), bytes.end());
        if (!cipher_) {
            if (held_.size() < kSecretAt) {
                return {};
            }
            const auto secret =
                load_known<std::uint16_t>(std::as_bytes(std::span(held_)), kLengthAt);
            if (held_.size() < kSecretAt + secret) {
                return {};
            }
            RETURN_IF_ERROR(start(secret));
            held_.erase(held_.begin(),
                        held_.begin() + static_cast<std::ptrdiff_t>(kSecretAt + secret));
        }
        // The last block is held: it has the padding if the file ends there.
        if (held_.size() <= kBlockBytes) {
            return {};
        }
        const auto ready = (held_.size() - 1) / kBlockBytes * kBlockBytes;
        RETURN_IF_ERROR(decrypt(ready, text));
        held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(ready));
        return {};
    }

    std::string finish(std::string& text) {
        if (!cipher_) {
            return "the encrypted crash dump ends within its head";
        }
        std::string last;
        if (held_.size() == kBlockBytes && decrypt(kBlockBytes, last)) {
            const auto padding = static_cast<unsigned char>(last.back());
            if (padding >= 1 && padding <= kBlockBytes &&
                last.find_first_not_of(last.back(), kBlockBytes - padding) == std::string::npos) {
                text.append(last, 0, kBlockBytes - padding);
                return {};
            }
        }
        text += last;
        return "the encrypted crash dump is cut off";
    }

  private:
    /// Decapsulates the key that the text is encrypted with.
    Result<void> start(std::size_t secret_bytes) {
        const auto* const head = reinterpret_cast<const unsigned char*>(held_.data());
        const std::unique_ptr<EVP_PKEY_CTX, FreeOpenssl> context(
            EVP_PKEY_CTX_new_from_pkey(nullptr, key_.get(), nullptr));
        std::vector<unsigned char> secret;
        std::size_t bytes = 0;
        const bool is_rsa = EVP_PKEY_is_a(key_.get(), "RSA") == 1;
        bool done = context && EVP_PKEY_decapsulate_init(context.get(), nullptr) == 1 &&
                    (!is_rsa || EVP_PKEY_CTX_set_kem_op(context.get(), "RSASVE") == 1) &&
                    EVP_PKEY_decapsulate(context.get(), nullptr, &bytes, head + kSecretAt,
                                         secret_bytes) == 1;
        if (done) {
            secret.resize(bytes);
            done = EVP_PKEY_decapsulate(context.get(), secret.data(), &bytes, head + kSecretAt,
                                        secret_bytes) == 1 &&
                   bytes >= kKeyBytes;
        }
        cipher_.reset(EVP_CIPHER_CTX_new());
        done = done && cipher_ &&
               EVP_DecryptInit_ex(cipher_.get(), EVP_aes_256_cbc(), nullptr, secret.data(),
                                  head + kEncryptedMagic.size()) == 1 &&
               EVP_CIPHER_CTX_set_padding(cipher_.get(), 0) == 1;
        OPENSSL_cleanse(secret.data(), secret.size());
        return done ? Result<void>() : wrong_key();
    }

    /// The first `bytes` of what is held: whole blocks.
    Result<void> decrypt(std::size_t bytes, std::string& text) {
        const auto before = text.size();
        text.resize(before + bytes);
        int written = 0;
        const bool done =
            EVP_DecryptUpdate(cipher_.get(), reinterpret_cast<unsigned char*>(text.data() + before),
                              &written, reinterpret_cast<const unsigned char*>(held_.data()),
                              static_cast<int>(bytes)) == 1;
        text.resize(before + (done ? static_cast<std::size_t>(written) : 0));
        constexpr std::string_view kBegin = "=erl_crash_dump:";
        static_assert(kBegin.size() == kBlockBytes);
        if (!done || (!begun_ && std::string_view(text).substr(before, kBlockBytes) != kBegin)) {
            text.resize(before);
            return wrong_key();
        }
        begun_ = true;
        return {};
    }

    [[nodiscard]] std::unexpected<Error> wrong_key() const {
        return fail(ErrorCode::kUnsupported,
                    fmt::format("{} was not encrypted for the key in {}", dump_, key_name_));
    }

    PrivateKey key_;
    std::string key_name_;
    std::string dump_;
    std::unique_ptr<EVP_CIPHER_CTX, FreeOpenssl> cipher_;  ///< once the head has been read
    std::vector<char> held_;                               ///< not decrypted yet
    bool begun_ = false;
};

Result<Decryption> Decryption::open(const std::filesystem::path& key, std::string dump) {
    ASSIGN_OR_RETURN(auto private_key, read_key(key));
    return Decryption(
        std::make_unique<Impl>(std::move(private_key), key.string(), std::move(dump)));
}

Decryption::Decryption(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decryption::Decryption(Decryption&&) noexcept = default;
Decryption& Decryption::operator=(Decryption&&) noexcept = default;
Decryption::~Decryption() = default;

Result<void> Decryption::add(std::span<const char> bytes, std::string& text) {
    return impl_->add(bytes, text);
}

std::string Decryption::finish(std::string& text) {
    return impl_->finish(text);
}

}  // namespace beamdump::crash
