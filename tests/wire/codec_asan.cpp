// Runs every parser of wire/wire.hpp over a corpus and over damaged copies of it, for the sanitizers to watch.
//
//   codec_asan CORPUS SEED MUTATIONS
//
// The corpus is a sequence of (form u8, size u32 little-endian, bytes), all valid. Each input is put into an
// allocation of just its size, so that reading one byte too far is seen. Prints the figures; ends with 1 if
// a valid input is rejected or a parser says something impossible.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>

#include "../fuzz/parsers.hpp"

using namespace cbn::test;

namespace {

enum Form : std::uint8_t { PACKET = 0, PREDICATE = 100 };  // 1 to 6: payloads of that kind

struct Input {
    std::uint8_t form;
    std::vector<std::uint8_t> bytes;
};

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) { return end == 0 ? 0 : random() % end; }

std::vector<Input> read_corpus(const char* path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<Input> corpus;
    for (char form; file.get(form);) {
        std::uint32_t size = 0;
        file.read(reinterpret_cast<char*>(&size), sizeof size);
        Input input{static_cast<std::uint8_t>(form), std::vector<std::uint8_t>(size)};
        file.read(reinterpret_cast<char*>(input.bytes.data()), size);
        corpus.push_back(std::move(input));
    }
    return corpus;
}

[[nodiscard]] Status run_parser(std::uint8_t form, Bytes data) {
    if (form == PREDICATE) return validate_predicate(data);
    if (form != PACKET) return validate_payload(form, data);
    run_framing(data);
    return validate_packet(data);
}

bool run_input(std::uint8_t form, const std::vector<std::uint8_t>& bytes) {
    const auto exact = std::make_unique<std::uint8_t[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), exact.get());
    const Bytes data(exact.get(), bytes.size());
    run_all_parsers(data);
    return run_parser(form, data).ok();
}

void damage(Random& random, std::vector<std::uint8_t>& bytes, const std::vector<Input>& corpus) {
    const std::size_t at = below(random, bytes.size());
    switch (random() % 6) {
        case 0: bytes.resize(at); return;
        case 1: bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), random() % 9, 0xFF); return;
        case 2: {
            const auto& other = corpus[below(random, corpus.size())].bytes;
            bytes.resize(at);
            bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(below(random, other.size())), other.end());
            return;
        }
        default:
            if (!bytes.empty()) bytes[at] ^= static_cast<std::uint8_t>(1U << (random() % 8));
    }
}

void repair_length(std::vector<std::uint8_t>& bytes) {
    if (bytes.size() < COMMON_SIZE || bytes.size() > MAX_PACKET) return;
    store<std::uint16_t>(&bytes[2], static_cast<std::uint16_t>(bytes.size()));
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        std::printf("usage: codec_asan CORPUS SEED MUTATIONS\n");
        return 2;
    }
    const std::vector<Input> corpus = read_corpus(arguments[1]);
    for (const Input& input : corpus) {
        if (!run_input(input.form, input.bytes)) fail("valid input rejected", input.bytes);
    }
    Random random(std::strtoull(arguments[2], nullptr, 10));
    const unsigned long mutations = std::strtoul(arguments[3], nullptr, 10);
    unsigned long accepted = 0;
    for (unsigned long i = 0; i < mutations; ++i) {
        Input input = corpus[below(random, corpus.size())];
        for (std::size_t n = 1 + random() % 3; n > 0; --n) damage(random, input.bytes, corpus);
        if (input.form == PACKET && random() % 2 == 0) repair_length(input.bytes);
        accepted += run_input(input.form, input.bytes);
    }
    std::printf("%zu valid, %lu mutated, %lu of them accepted\n", corpus.size(), mutations, accepted);
    return 0;
}
