// Runs a harness without libFuzzer: over each input of a file, and over changed copies of them.
//
//   driver HARNESS INPUTS SEED CHANGED
//
// INPUTS is a sequence of (size u32 little-endian, bytes). All harnesses are in one program, as what they stand
// on takes long to compile.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#define LLVMFuzzerTestOneInput capture
#include "harnesses/capture.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput datagram
#include "harnesses/datagram.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput forward
#include "harnesses/forward.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput match
#include "harnesses/match.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput payload
#include "harnesses/payload.cpp"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput sealed_link
#include "harnesses/seal.cpp"
#undef LLVMFuzzerTestOneInput

namespace {

using Harness = int (*)(const std::uint8_t*, std::size_t);

const std::map<std::string, Harness> HARNESSES = {
    {"capture", capture}, {"datagram", datagram}, {"forward", forward}, {"match", match}, {"payload", payload},
    {"seal", sealed_link}};

using Input = std::vector<std::uint8_t>;

std::vector<Input> read_inputs(const char* path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<Input> found;
    for (std::uint32_t size = 0; file.read(reinterpret_cast<char*>(&size), sizeof size);) {
        found.emplace_back(size);
        file.read(reinterpret_cast<char*>(found.back().data()), size);
    }
    return found;
}

// In an allocation of just its size, so that a sanitizer sees when one byte too far is read.
void run(Harness harness, const Input& input) {
    const auto exact = std::make_unique<std::uint8_t[]>(input.size());
    if (!input.empty()) std::memcpy(exact.get(), input.data(), input.size());
    harness(exact.get(), input.size());
}

void change(std::mt19937_64& random, Input& input, const std::vector<Input>& inputs) {
    const std::size_t at = input.empty() ? 0 : random() % input.size();
    const Input& other = inputs[random() % inputs.size()];
    switch (random() % 5) {
        case 0: input.resize(at); break;
        case 1: input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), 1 + random() % 8, static_cast<std::uint8_t>(random())); break;
        case 2:
            input.resize(at);
            input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(other.size() / 2), other.end());
            break;
        default:
            if (!input.empty()) input[at] = static_cast<std::uint8_t>(input[at] ^ (1U << random() % 8));
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 5 || !HARNESSES.contains(arguments[1])) return 2;
    const Harness harness = HARNESSES.at(arguments[1]);
    const std::vector<Input> inputs = read_inputs(arguments[2]);
    if (inputs.empty()) return 2;
    for (const Input& input : inputs) run(harness, input);
    std::mt19937_64 random(std::strtoull(arguments[3], nullptr, 10));
    const std::size_t changed = std::strtoull(arguments[4], nullptr, 10);
    for (std::size_t done = 0; done < changed; ++done) {
        Input input = inputs[random() % inputs.size()];
        for (std::size_t left = 1 + random() % 3; left > 0; --left) change(random, input, inputs);
        run(harness, input);
    }
    std::printf("%zu inputs, %zu changed\n", inputs.size(), changed);
    return 0;
}
