// Under which of its constraints a filter of several is filed: the least likely to hold, as far as one can tell.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "match/dictionary.hpp"
#include "match/terms.hpp"

namespace cbn::fast {

// In 1024ths, if the attribute is there: a guess, good enough to choose by. What filters often mention, messages
// often have: the rest of the estimate is how often the key is used.
inline std::uint32_t likelihood(const Term& term, std::uint32_t kind, const DictionaryView& operands) noexcept {
    constexpr std::uint32_t always = 1024, half = 512, one_number = 8, one_text = 1;
    switch (term.test) {
        case Test::Eq:
            if (is_text(kind)) return one_text;
            return kind == static_cast<std::uint32_t>(wire::Type::Boolean) ? half : one_number;
        case Test::Below:
        case Test::AtLeast:
        case Test::BelowNext:
        case Test::AtLeastNext: return half;
        case Test::Prefix:
        case Test::Suffix:
        case Test::Substring: {
            const std::size_t size = operands.text(static_cast<std::uint32_t>(term.value)).size();
            return size == 1 ? 64 : size == 2 ? 8 : 2;
        }
        default: return always;
    }
}

// The least likely first. Then those whose key is rarest, so that a filter that does not hold is soon known not
// to; one on the first one's own key last, since that key is there.
inline void order_terms(std::vector<Term>& terms, const Dictionary& keys, const DictionaryView& operands) {
    const auto cost = [&](const Term& term) {
        return std::uint64_t{keys.uses(term.key)} * likelihood(term, keys.kind(term.key), operands);
    };
    const auto cheaper = [&](const Term& left, const Term& right) { return cost(left) < cost(right); };
    std::swap(terms[0], *std::min_element(terms.begin(), terms.end(), cheaper));
    const auto rarity = [&](const Term& term) {
        return term.key == terms[0].key ? ~std::uint64_t{0} : std::uint64_t{keys.uses(term.key)};
    };
    const auto rarer = [&](const Term& left, const Term& right) { return rarity(left) < rarity(right); };
    std::sort(terms.begin() + 1, terms.end(), rarer);
}

}  // namespace cbn::fast
