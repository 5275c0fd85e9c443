// Pseudo-words made of syllables, for names and values: about as long as a dictionary's, none twice in a list.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "random.hpp"

namespace cbn::workload {

// What stands twice is drawn twice as often.
inline constexpr std::string_view ONSETS[] = {
    "b", "b", "c", "c", "d", "d", "f", "f", "g", "g", "h", "h", "j", "k", "l", "l", "m", "m", "n", "n", "p", "p",
    "r", "r", "s", "s", "t", "t", "v", "w", "z", "br", "ch", "cr", "gl", "gr", "pl", "qu", "sh", "sp", "st", "th"};
inline constexpr std::string_view VOWELS[] = {"a", "a", "a", "e", "e", "e", "i", "i", "o", "o", "u", "ea", "io", "ou"};
inline constexpr std::string_view CODAS[] = {"", "", "", "", "", "", "", "l", "m", "n", "r", "s", "t", "nd", "st"};
inline constexpr Range<std::uint64_t> SYLLABLES{2, 4};

template <std::size_t N>
inline void append_one_of(const std::string_view (&parts)[N], Random& random, std::string& out) {
    out.append(parts[random.below(N)]);
}

// At least four letters.
inline std::string make_word(Random& random) {
    std::string word;
    for (std::uint64_t left = random.in(SYLLABLES); left > 0; --left) {
        append_one_of(ONSETS, random, word);
        append_one_of(VOWELS, random, word);
        append_one_of(CODAS, random, word);
    }
    return word;
}

inline std::vector<std::string> make_words(std::size_t count, Random random) {
    std::vector<std::string> words;
    std::unordered_set<std::string> known;
    while (words.size() < count) {
        const auto [word, fresh] = known.insert(make_word(random));
        if (fresh) words.push_back(*word);
    }
    return words;
}

}  // namespace cbn::workload
