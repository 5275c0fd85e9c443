// The proof in a SEAL: HMAC-SHA-256 of OpenSSL, cut to 16 bytes.
#pragma once

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "wire/wire.hpp"

namespace cbn::seal {

inline constexpr std::size_t KEY_SIZE = 32;
using Key = std::array<std::uint8_t, KEY_SIZE>;
using Proof = std::array<std::uint8_t, wire::SEAL_MAC_SIZE>;

// One key, made ready: what OpenSSL computes of a key alone is done once.
class Mac {
  public:
    explicit Mac(const Key& key) : context_(EVP_MAC_CTX_new(algorithm())) {
        char digest[] = "SHA256";
        const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                         OSSL_PARAM_construct_end()};
        if (context_ == nullptr || EVP_MAC_init(context_.get(), key.data(), key.size(), parameters) != 1) {
            throw std::runtime_error("OpenSSL has no HMAC-SHA-256");
        }
    }

    [[nodiscard]] Proof of(wire::Bytes data) {
        std::array<std::uint8_t, EVP_MAX_MD_SIZE> whole{};
        std::size_t size = 0;
        EVP_MAC_CTX* const context = context_.get();
        if (EVP_MAC_init(context, nullptr, 0, nullptr) != 1 || EVP_MAC_update(context, data.data(), data.size()) != 1 ||
            EVP_MAC_final(context, whole.data(), &size, whole.size()) != 1) {
            throw std::runtime_error("OpenSSL cannot compute HMAC-SHA-256");
        }
        Proof proof;
        std::copy_n(whole.begin(), proof.size(), proof.begin());
        return proof;
    }

    // Takes as long if it is wrong.
    [[nodiscard]] bool proves(wire::Bytes data, wire::Bytes proof) {
        const Proof expected = of(data);
        return proof.size() == expected.size() && CRYPTO_memcmp(proof.data(), expected.data(), expected.size()) == 0;
    }

  private:
    struct Free {
        void operator()(EVP_MAC_CTX* context) const noexcept { EVP_MAC_CTX_free(context); }
    };

    // Fetched once, and kept as long as the process.
    [[nodiscard]] static EVP_MAC* algorithm() {
        static EVP_MAC* const found = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
        if (found == nullptr) throw std::runtime_error("OpenSSL has no HMAC");
        return found;
    }

    std::unique_ptr<EVP_MAC_CTX, Free> context_;
};

}  // namespace cbn::seal
