// Any bytes as a datagram and as one packet: all parsers agree with each other, and read nothing that is not there.
#include "../parsers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const cbn::wire::Bytes bytes(data, size);
    cbn::test::run_framing(bytes);
    cbn::test::run_all_parsers(bytes);
    return 0;
}
