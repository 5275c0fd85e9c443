// What goes over a link whose messages are sealed, and what somebody without keys makes of it: a message is taken
// only as the neighbour has sealed it, and only once.
//
// The input is the mode (1 byte) and steps: what (1 byte), size (1 byte), and so many bytes.
//   0  the neighbour uses another key      2  as the neighbour sent it before, with bits turned
//   1  sealed by the neighbour             3  whatever
//   4  the keys that are taken are others, by the bits of the size; without bytes
#include "../parsers.hpp"
#include "seal/calls.hpp"

#include <set>

namespace sealing {

using namespace cbn;
using seal::Guard;
using seal::KeyOf;

constexpr std::size_t KEYS = 4, SENT_MAX = 16;

std::vector<KeyOf> keys() {
    std::vector<KeyOf> found;
    for (std::uint8_t number = 0; number < KEYS; ++number) {
        KeyOf key{static_cast<std::uint16_t>(1 + number % 2), 5U + number / 2, {}};
        key.key.fill(static_cast<std::uint8_t>(number + 1));
        found.push_back(key);
    }
    return found;
}

wire::Bytes view(const std::string& text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

class Link {
  public:
    explicit Link(seal::Mode mode) : mode_(mode), neighbour_(mode), here_(mode) {
        neighbour_.use(keys_[0], {});
        here_.use(std::nullopt, keys_);
    }

    void step(std::uint8_t what, std::uint8_t size, std::string body) {
        switch (what % 5) {
            case 0: neighbour_.use(keys_[size % KEYS], {}); break;
            case 1: arrive(sent(std::move(body))); break;
            case 2: arrive(turned(std::move(body))); break;
            case 3: arrive(body); break;
            default: take(size);
        }
    }

  private:
    std::string sent(std::string body) {
        std::string out = seal::sealed(neighbour_, view(body));
        if (out.size() > body.size()) {
            sealed_.insert(out);
            if (sent_.size() < SENT_MAX) sent_.push_back(out);
        }
        return out;
    }

    std::string turned(std::string by) const {
        if (sent_.empty() || by.empty()) return by;
        std::string out = sent_[static_cast<std::uint8_t>(by[0]) % sent_.size()];
        for (std::size_t at = 1; at < by.size(); ++at) out[(at * 37 + by.size()) % out.size()] ^= by[at];
        return out;
    }

    void take(std::uint8_t which) {
        std::vector<KeyOf> taken;
        for (std::size_t each = 0; each < KEYS; ++each) {
            if (which >> each & 1) taken.push_back(keys_[each]);
        }
        here_.use(std::nullopt, taken);
        windows_begin_anew_ = true;  // of a session that ends and comes back, which in networks none does
    }

    void arrive(const std::string& datagram) {
        const auto exact = std::make_unique<std::uint8_t[]>(datagram.size());
        std::copy(datagram.begin(), datagram.end(), exact.get());
        const wire::Bytes bytes(exact.get(), datagram.size());
        const seal::Opened opened = seal::opened(here_, bytes);
        const bool taken = opened.verdict.messages > 0 && !opened.verdict.refused;
        if (taken && opened.verdict.reason == Drop::None && mode_ != seal::Mode::Off) {
            test::require(sealed_.contains(datagram), "a datagram is taken that nobody has sealed", bytes);
            const bool first = taken_.insert(datagram).second;
            test::require(first || windows_begin_anew_, "a datagram is taken once more", bytes);
        } else if (taken) {
            test::require(mode_ != seal::Mode::Required, "a message is taken without a seal", bytes);
        }
        check_rest(opened, bytes);
    }

    // What is left of a datagram whose messages are refused has none, and is framed.
    static void check_rest(const seal::Opened& opened, wire::Bytes datagram) {
        if (!opened.verdict.refused) return;
        wire::FrameCursor frames(view(opened.left));
        for (wire::Frame frame; frames.next(frame);) {
            test::require(frame.type != wire::PacketType::Message, "a refused message is left", datagram);
        }
        test::require(opened.left.empty() || wire::check_framing(view(opened.left)).ok(), "the rest is not framed", datagram);
    }

    const std::vector<KeyOf> keys_ = keys();
    const seal::Mode mode_;
    Guard neighbour_, here_;
    std::vector<std::string> sent_;
    std::set<std::string> sealed_, taken_;
    bool windows_begin_anew_ = false;
};

}  // namespace sealing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    sealing::Link link(static_cast<cbn::seal::Mode>(data[0] % 3));
    std::size_t at = 1;
    while (at + 2 <= size) {
        const std::uint8_t what = data[at], length = data[at + 1];
        at += 2;
        const std::size_t has = what % 5 == 4 || what % 5 == 0 ? 0 : std::min<std::size_t>(length, size - at);
        link.step(what, length, {reinterpret_cast<const char*>(data + at), has});
        at += has;
    }
    return 0;
}
