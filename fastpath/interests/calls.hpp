// What callers in Python need of interests/interests.hpp in one call.
#pragma once

#include <string>

#include "interests/interests.hpp"

namespace cbn::interests {

inline bool settle_into(Union& all, Predicate& removed, Predicate& added) {
    return all.settle([&](std::uint32_t id) { removed.put(id); }, [&](std::uint32_t id) { added.put(id); });
}

[[nodiscard]] inline std::string digest_bytes(const Digest& digest) {
    const auto bytes = digest.bytes();
    return {bytes.begin(), bytes.end()};
}

[[nodiscard]] inline Digest digest_after(const Predicate& now, const Predicate& removed,
                                         const Predicate& added) noexcept {
    Digest after = now.digest();
    after -= removed.digest();
    after += added.digest();
    return after;
}

}  // namespace cbn::interests
