// The selectivity table (FWD 4.3, Fig. 7): which interfaces cannot match a message that lacks an attribute.
//
// A name is a determinant of an interface if each of its filters has a constraint on it, of whatever type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paper/network.hpp"

namespace cbn::paper {

// A name, by number and as text, and the interfaces of which it is a determinant: their places, ascending.
struct Determinant {
    std::uint32_t name = 0;
    std::string_view text{};
    std::vector<std::uint32_t> places;
};

class SelectivityTable {
  public:
    SelectivityTable() = default;

    // Keeps the `rounds` names that exclude most; of equal ones those that come first in alphabetical order.
    SelectivityTable(std::vector<Determinant> all, std::size_t rounds, std::size_t interfaces) {
        std::stable_sort(all.begin(), all.end(), [](const Determinant& a, const Determinant& b) {
            return a.places.size() > b.places.size();
        });
        if (all.size() > rounds) all.resize(rounds);
        for (Determinant& each : all) rows_.push_back(row_of(each, interfaces));
        rows_.shrink_to_fit();
    }

    // FWD's pre_process(m), with E1's corrections: what is excluded is added to what is ignored. Whether anything
    // is left is asked once after all rounds, since counting a bit vector costs as much as a union.
    void pre_process(Counting& counting, State& state) const {
        state.eliminated = 0;
        if (rows_.empty() || state.undecided == 0) return;
        for (const Row& row : rows_) {
            if (!state.named.test(row.name)) counting.ignore(row.set, row.list);
        }
        state.eliminated = counting.recount();
    }

    [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }
    [[nodiscard]] const std::string& text(std::size_t row) const { return rows_[row].text; }

    // The places of the interfaces that a message is kept from if it lacks the name of the row.
    [[nodiscard]] std::vector<std::uint32_t> places(std::size_t row) const {
        std::vector<std::uint32_t> all = rows_[row].list;
        for (std::uint32_t word = 0; word < rows_[row].set.size(); ++word) {
            for (std::uint32_t bit = 0; bit < 64; ++bit) {
                if (((rows_[row].set[word] >> bit) & 1U) != 0) all.push_back(word * 64 + bit);
            }
        }
        return all;
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
        std::size_t total = rows_.capacity() * sizeof(Row);
        for (const Row& row : rows_) {
            total += row.set.capacity() * sizeof(std::uint64_t) + row.list.capacity() * sizeof(std::uint32_t);
        }
        return total;
    }

  private:
    // A bit vector, as in the paper, or a list where so few are in it that going through the list is quicker; the
    // other is empty.
    struct Row {
        std::uint32_t name = 0;
        std::string text;
        std::vector<std::uint64_t> set;
        std::vector<std::uint32_t> list;
    };

    static Row row_of(Determinant& from, std::size_t interfaces) {
        Row row{from.name, std::string(from.text), {}, {}};
        if (from.places.size() * 128 < interfaces) {
            row.list = std::move(from.places);
            row.list.shrink_to_fit();
            return row;
        }
        row.set.resize((interfaces + 63) / 64);
        for (const std::uint32_t place : from.places) row.set[place / 64] |= std::uint64_t{1} << (place % 64);
        return row;
    }

    std::vector<Row> rows_;
};

}  // namespace cbn::paper
