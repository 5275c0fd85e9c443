// Why a message is not forwarded. The same numbers as in fastpath/fib/values.py.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cbn {

enum class Drop : std::uint8_t {
    None = 0,
    Malformed = 1,
    HopLimit = 2,
    UnknownClass = 3,
    WrongInterface = 4,
    SpoofedSource = 5,
    NoFib = 6,
    SendFailed = 7,
    Unreachable = 8,
    Returned = 9,
    Unadvertised = 10,
    NotPermitted = 11,
    NoSeal = 12,
    UnknownKey = 13,
    WrongSeal = 14,
    RepeatedSeal = 15,
    OtherSession = 16
};
inline constexpr std::size_t DROPS = 17;

}  // namespace cbn
