// Any bytes as a control payload of the kind that the first of them says. A payload that is taken ends where its
// last field does: with a byte more it is refused, unless a text or a fragment is last in it.
#include "../parsers.hpp"

using namespace cbn::wire;

namespace {

bool ends_with_text(std::uint8_t kind) { return static_cast<Kind>(kind) == Kind::SubscribePattern; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::uint8_t kind = data[0];
    const std::vector<std::uint8_t> exact(data + 1, data + size);
    cbn::test::run_all_parsers(exact);
    if (!validate_payload(kind, exact).ok() || ends_with_text(kind)) return 0;
    std::vector<std::uint8_t> longer = exact;
    longer.push_back(0);
    cbn::test::require(!validate_payload(kind, longer).ok(), "a byte that belongs to nothing is taken", longer);
    return 0;
}
