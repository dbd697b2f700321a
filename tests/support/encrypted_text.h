#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace beamdump::test {

/// An RSA key of 2048 bits, and what it encrypts as erl_crash_dump.c of OTP 29.1 does.
class EncryptionKey {
  public:
    EncryptionKey() : key_(EVP_RSA_gen(2048), EVP_PKEY_free) {}

    /// The private key, or with `of_public` the other, in PEM form.
    [[nodiscard]] std::string pem(bool of_public = false, const char* passphrase = nullptr) const {
        const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
        const auto* const cipher = passphrase == nullptr ? nullptr : EVP_aes_256_cbc();
        const bool done =
            (of_public ? PEM_write_bio_PUBKEY(memory.get(), key_.get())
                       : PEM_write_bio_PrivateKey(memory.get(), key_.get(), cipher, nullptr, 0,
                                                  nullptr, const_cast<char*>(passphrase))) == 1;
        char* text = nullptr;
        const auto bytes = BIO_get_mem_data(memory.get(), &text);
        if (!done) {
            throw std::runtime_error("no PEM form");
        }
        return {text, static_cast<std::size_t>(bytes)};
    }

    [[nodiscard]] std::string encrypt(std::string_view text) const {
        const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
            EVP_PKEY_CTX_new_from_pkey(nullptr, key_.get(), nullptr), EVP_PKEY_CTX_free);
        std::size_t secret_bytes = 0;
        std::size_t key_bytes = 0;
        bool done =
            EVP_PKEY_encapsulate_init(context.get(), nullptr) == 1 &&
            EVP_PKEY_CTX_set_kem_op(context.get(), "RSASVE") == 1 &&
            EVP_PKEY_encapsulate(context.get(), nullptr, &secret_bytes, nullptr, &key_bytes) == 1;
        std::vector<unsigned char> secret(secret_bytes);
        std::vector<unsigned char> key(key_bytes);
        std::array<unsigned char, 16> vector{};
        std::string bytes(text.size() + vector.size(), '\0');
        int first = 0;
        int last = 0;
        auto* const into = reinterpret_cast<unsigned char*>(bytes.data());
        const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> cipher(
            EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
        done = done &&
               EVP_PKEY_encapsulate(context.get(), secret.data(), &secret_bytes, key.data(),
                                    &key_bytes) == 1 &&
               RAND_bytes(vector.data(), static_cast<int>(vector.size())) == 1 &&
               EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_cbc(), nullptr, key.data(),
                                  vector.data()) == 1 &&
               EVP_EncryptUpdate(cipher.get(), into, &first,
                                 reinterpret_cast<const unsigned char*>(text.data()),
                                 static_cast<int>(text.size())) == 1 &&
               EVP_EncryptFinal_ex(cipher.get(), into + first, &last) == 1;
        if (!done) {
            throw std::runtime_error("not encrypted");
        }
        bytes.resize(static_cast<std::size_t>(first + last));
        std::string file = "ENC0";
        file.append(vector.begin(), vector.end());
        file += static_cast<char>(secret_bytes & 0xffU);
        file += static_cast<char>(secret_bytes >> 8U);
        file.append(secret.begin(), secret.end());
        return file + bytes;
    }

  private:
    std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

}  // namespace beamdump::test
