// Keeps a forwarding table at what unions of predicates say, one union an interface.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "interests/union.hpp"

namespace cbn::interests {

// `Table` has add(interface, filter) -> id and remove(id): a parameter, so that the engine is compiled elsewhere.
class TableEditor {
  public:
    TableEditor(PoolPointer pool, std::size_t reduced_max) : pool_(std::move(pool)), reduced_max_(reduced_max) {}

    void add(std::uint32_t interface, const Predicate& predicate) { row(interface).wanted.add(predicate); }
    [[nodiscard]] bool remove(std::uint32_t interface, const Predicate& predicate) {
        return row(interface).wanted.remove(predicate);
    }

    // Makes the table's changes, without committing them; whether there were any.
    template <class Table>
    bool settle(Table& table) {
        bool changed = false;
        for (auto& [interface, row] : rows_) {
            IdMap<Place>& filed = row.filed;
            const auto take = [&](std::uint32_t id) {
                table.remove(filed.find(id)->id());
                filed.erase(id);
            };
            const auto put = [&, at = interface](std::uint32_t id) {
                const std::uint64_t place = table.add(at, pool_->filter(id));
                *filed.insert(id).first = Place(place);
            };
            changed = row.wanted.settle(take, put) || changed;
            filed.trim();
        }
        std::erase_if(rows_, [](const auto& each) { return each.second.wanted.idle(); });
        return changed;
    }

    // By interface, what stands in the table, encoded.
    [[nodiscard]] std::vector<std::pair<std::uint32_t, std::string>> contents() const {
        std::vector<std::pair<std::uint32_t, std::string>> found;
        for (const auto& [interface, row] : rows_) {
            Predicate filed(pool_);
            row.filed.each_key([&](std::uint32_t id) { filed.put(id); });
            if (filed.size() != 0) found.emplace_back(interface, filed.encoded());
        }
        return found;
    }

    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t sum = 0;
        for (const auto& [interface, row] : rows_) sum += row.filed.size();
        return sum;
    }
    [[nodiscard]] std::size_t bytes() const noexcept {
        std::size_t sum = sizeof *this;
        for (const auto& [interface, row] : rows_) sum += sizeof(Row) + row.wanted.bytes() + row.filed.bytes();
        return sum;
    }

  private:
    // A 64-bit id in halves: a slot of the map then has 12 bytes, not 16.
    struct Place {
        std::uint32_t high = 0, low = 0;
        Place() = default;
        explicit Place(std::uint64_t id)
            : high(static_cast<std::uint32_t>(id >> 32)), low(static_cast<std::uint32_t>(id)) {}
        [[nodiscard]] std::uint64_t id() const noexcept { return std::uint64_t{high} << 32 | low; }
    };
    struct Row {
        Row(PoolPointer pool, std::size_t reduced_max) : wanted(std::move(pool), reduced_max) {}
        Union wanted;
        IdMap<Place> filed;  // the table's ids by ours
    };

    Row& row(std::uint32_t interface) { return rows_.try_emplace(interface, pool_, reduced_max_).first->second; }

    PoolPointer pool_;
    std::size_t reduced_max_;
    std::map<std::uint32_t, Row> rows_;
};

}  // namespace cbn::interests
