// Destinations: what the route of a MESSAGE holds where it is sent to routers by their ids.
//
// Each id is written as what lies between it and the one before it (0 before the first), seven bits a byte,
// low bits first, the top bit set in all bytes but the last. So ids ascend, whatever the bytes, and a list of
// them has one encoding.
#pragma once

#include "wire/types.hpp"

namespace cbn::wire {

[[nodiscard]] constexpr std::size_t destination_size(std::uint32_t before, std::uint32_t router) noexcept {
    return (static_cast<std::size_t>(std::bit_width((router - before - 1) | 1U)) + 6) / 7;
}

// Appends an id, above `before`, to a container of bytes.
template <class Out>
void put_destination(Out& out, std::uint32_t before, std::uint32_t router) {
    std::uint32_t step = router - before - 1;
    for (; step >= 0x80; step >>= 7) out.push_back(static_cast<typename Out::value_type>((step & 0x7F) | 0x80));
    out.push_back(static_cast<typename Out::value_type>(step));
}

// Walks the ids of a route and checks them.
class DestinationCursor {
  public:
    DestinationCursor() noexcept = default;
    explicit DestinationCursor(Bytes route) noexcept : route_(route) {}

    [[nodiscard]] bool next(std::uint32_t& router) noexcept {
        if (at_ == route_.size() || !status_.ok()) return false;
        const std::size_t start = at_;
        std::uint64_t step = 0;
        std::uint8_t byte = 0x80;
        for (unsigned shift = 0; (byte & 0x80) != 0; shift += 7) {
            if (at_ == route_.size()) return fail(Fault::Truncated, start);
            byte = route_[at_++];
            step |= std::uint64_t{byte & 0x7FU} << shift;
            if (last_ + step >= 0xFFFFFFFF) return fail(Fault::IdTooLarge, start);
            if (shift > 0 && byte == 0) return fail(Fault::NotShortest, start);
            if (shift == 28 && (byte & 0x80) != 0) return fail(Fault::IdTooLarge, start);
        }
        router = static_cast<std::uint32_t>(last_ += step + 1);
        return true;
    }
    [[nodiscard]] const Status& status() const noexcept { return status_; }

  private:
    bool fail(Fault fault, std::size_t at) noexcept {
        status_ = {fault, "destination", at};
        return false;
    }

    Bytes route_{};
    std::size_t at_ = 0;
    std::uint64_t last_ = 0;
    Status status_{};
};

}  // namespace cbn::wire
