// Builds the paper's forwarding table (paper/index.hpp) from encoded filters: as a whole, a dictionary (F2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paper/index.hpp"
#include "paper/interning.hpp"
#include "paper/planting.hpp"

namespace cbn::paper {

inline constexpr const char* FULL = "the table is full: the paper's index holds up to 4,294,967,295 constraints";

// Groups values by key, in the order in which they came: a table of starts, and the values.
struct Groups {
    std::vector<std::uint32_t> begin;
    std::vector<std::uint32_t> values;

    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t key) const {
        return {values.data() + begin[key], values.data() + begin[key + 1]};
    }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(begin.size() - 1); }
};

// `each(visit)` calls `visit(key, value)` for all pairs, twice over in the same order.
template <class Each>
Groups group(std::size_t keys, Each&& each) {
    Groups groups;
    std::vector<std::uint64_t> count(keys + 1);
    each([&](std::uint32_t key, std::uint32_t) { ++count[key + 1]; });
    std::partial_sum(count.begin(), count.end(), count.begin());
    if (count.back() >= NONE) throw std::length_error(FULL);
    groups.begin.assign(count.begin(), count.end());
    groups.values.resize(count.back());
    each([&](std::uint32_t key, std::uint32_t value) { groups.values[count[key]++] = value; });
    return groups;
}

class Builder {
  public:
    // The filter has been validated, and its bytes stay where they are until `build`.
    void add(std::uint32_t interface, std::string_view encoded) {
        const auto [filter, fresh] = filters_.number(encoded);
        if (fresh) compile(encoded);
        pairs_.push_back(std::uint64_t{interface} << 32 | filter);
    }

    // With no rounds this is the counting algorithm. `kept` is how many bytes are kept to build from; they count.
    [[nodiscard]] std::shared_ptr<const Index> build(std::size_t rounds, std::size_t kept) {
        auto index = std::make_shared<Index>();
        index_ = index.get();
        index_->counted_.offered = pairs_.size();
        index_->counted_.kept = kept;
        std::sort(pairs_.begin(), pairs_.end());
        pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
        filters_begin_.push_back(static_cast<std::uint32_t>(filter_constraints_.size()));
        count();
        number_interfaces();
        number_filters();
        plant_constraints();
        link();
        const std::size_t interfaces = index_->network_.interfaces.size();
        if (rounds > 0) index_->selectivity_ = SelectivityTable(determinants(), rounds, interfaces);
        return index;
    }

  private:
    using Places = std::span<const std::uint32_t>;

    void compile(std::string_view encoded) {
        if (filter_constraints_.size() >= NONE - 65'535) throw std::length_error(FULL);
        filters_begin_.push_back(static_cast<std::uint32_t>(filter_constraints_.size()));
        wire::ConstraintCursor cursor({reinterpret_cast<const std::uint8_t*>(encoded.data()), encoded.size()});
        std::size_t start = cursor.size();
        for (wire::ConstraintView view; cursor.next(view); start = cursor.size(), view = {}) {
            const auto [number, fresh] = constraints_.number(encoded.substr(start, cursor.size() - start));
            filter_constraints_.push_back(number);
            if (fresh) meanings_.push_back({names_.number(view.name).first, view.op, view.value});
        }
    }

    static std::uint32_t interface_of(std::uint64_t pair) { return static_cast<std::uint32_t>(pair >> 32); }
    static std::uint32_t filter_of(std::uint64_t pair) { return static_cast<std::uint32_t>(pair); }

    [[nodiscard]] Places constraints_of(std::uint32_t filter) const {
        const std::uint32_t* const all = filter_constraints_.data();
        return {all + filters_begin_[filter], all + filters_begin_[filter + 1]};
    }

    void count() {
        index_->counted_.distinct_filters = filters_.size();
        for (const std::uint64_t pair : pairs_) {
            index_->counted_.constraints += constraints_of(filter_of(pair)).size();
        }
    }

    // Interfaces get places in ascending order; those with an empty filter are set apart (E5).
    void number_interfaces() {
        Network& network = index_->network_;
        for (const std::uint64_t pair : pairs_) {
            const std::uint32_t interface = interface_of(pair);
            if (network.interfaces.empty() || network.interfaces.back() != interface) {
                network.interfaces.push_back(interface);
            }
            if (constraints_of(filter_of(pair)).empty()) {
                network.universal.push_back(static_cast<std::uint32_t>(network.interfaces.size() - 1));
            }
        }
    }

    // Calls `visit(filter, place of the interface)` for all that are of the network.
    template <class Visit>
    void each_pair(Visit&& visit) const {
        const std::vector<std::uint32_t>& interfaces = index_->network_.interfaces;
        std::uint32_t place = 0;
        for (const std::uint64_t pair : pairs_) {
            while (interfaces[place] != interface_of(pair)) ++place;
            if (!constraints_of(filter_of(pair)).empty()) visit(filter_of(pair), place);
        }
    }

    // Finds the owners, and orders the filters by them.
    void number_filters() {
        Network& network = index_->network_;
        const Groups places = group(filters_.size(), [&](auto&& visit) { each_pair(visit); });
        const std::vector<std::uint32_t> owners = find_owners(places);
        const std::size_t owner_count = network.first_interface + network.interfaces.size();
        by_owner_ = group(owner_count, [&](auto&& visit) {
            for (std::uint32_t filter = 0; filter < filters_.size(); ++filter) {
                if (owners[filter] != NONE) visit(owners[filter], filter);
            }
        });
        network.first_filter = by_owner_.begin;
        network.long_runs = filters_.size() >= 4 * owner_count;
        for (const std::uint32_t filter : by_owner_.values) {
            network.owners.push_back(owners[filter]);
            network.sizes.push_back(static_cast<std::uint16_t>(constraints_of(filter).size()));
        }
        network.owners.shrink_to_fit();
        network.sizes.shrink_to_fit();
    }

    // The owner of each filter, NONE for the empty one. Equal sets of interfaces are one owner.
    std::vector<std::uint32_t> find_owners(const Groups& places) {
        Network& network = index_->network_;
        Interning sets;
        std::vector<std::uint32_t> owners(places.size(), NONE);
        for (std::uint32_t filter = 0; filter < places.size(); ++filter) {
            if (places.of(filter).size() > 1) owners[filter] = sets.number(bytes_of(places.of(filter))).first;
        }
        for (std::uint32_t set = 0; set < sets.size(); ++set) {
            network.shares_begin.push_back(static_cast<std::uint32_t>(network.shares.size()));
            append(network.shares, sets.text(set));
        }
        if (sets.size() > 0) network.shares_begin.push_back(static_cast<std::uint32_t>(network.shares.size()));
        network.first_interface = (sets.size() + 63) / 64 * 64;
        for (std::uint32_t filter = 0; filter < places.size(); ++filter) {
            if (places.of(filter).size() == 1) owners[filter] = network.first_interface + places.of(filter).front();
        }
        return owners;
    }

    static std::string_view bytes_of(Places places) {
        return {reinterpret_cast<const char*>(places.data()), places.size_bytes()};
    }
    static void append(std::vector<std::uint32_t>& to, std::string_view bytes) {
        const std::size_t old = to.size();
        to.resize(old + bytes.size() / sizeof(std::uint32_t));
        std::memcpy(to.data() + old, bytes.data(), bytes.size());
    }

    void plant_constraints() {
        Planter planter(index_->constraints_);
        std::vector<std::string_view> names(names_.size());
        for (std::uint32_t name = 0; name < names_.size(); ++name) names[name] = names_.text(name);
        const std::vector<std::uint32_t> numbers = planter.plant_names(names);
        name_texts_.resize(names.size());
        for (std::uint32_t name = 0; name < names.size(); ++name) name_texts_[numbers[name]] = names[name];
        for (Meaning& meaning : meanings_) meaning.name = numbers[meaning.name];
        constraint_numbers_ = planter.plant(meanings_);
    }

    void link() {
        Groups links = group(meanings_.size(), [&](auto&& visit) {
            for (std::uint32_t place = 0; place < by_owner_.values.size(); ++place) {
                for (const std::uint32_t each : constraints_of(by_owner_.values[place])) {
                    visit(constraint_numbers_[each], place);
                }
            }
        });
        index_->network_.links_begin = std::move(links.begin);
        index_->network_.links = std::move(links.values);
    }

    // For each interface the names that all its filters constrain: those in as many filters as there are.
    [[nodiscard]] std::vector<Determinant> determinants() const {
        std::vector<Determinant> rows(names_.size());
        for (std::uint32_t name = 0; name < names_.size(); ++name) rows[name] = {name, name_texts_[name], {}};
        std::vector<Tally> tallies(rows.size());
        std::vector<std::uint32_t> named;
        std::uint32_t place = 0;
        for (std::size_t begin = 0, end = 0; begin < pairs_.size(); begin = end, ++place) {
            for (; end < pairs_.size() && interface_of(pairs_[end]) == interface_of(pairs_[begin]); ++end) {
                tally(filter_of(pairs_[end]), end + 1, tallies, named);
            }
            for (const std::uint32_t name : named) {
                if (tallies[name].filters == end - begin) rows[name].places.push_back(place);
                tallies[name].filters = 0;
            }
            named.clear();
        }
        std::erase_if(rows, [](const Determinant& row) { return row.places.empty(); });
        return rows;
    }

    // In how many filters of the present interface a name is, and the last of them, to count it there once.
    struct Tally {
        std::size_t filters = 0;
        std::size_t last = 0;
    };

    void tally(std::uint32_t filter, std::size_t turn, std::vector<Tally>& tallies,
               std::vector<std::uint32_t>& named) const {
        for (const std::uint32_t constraint : constraints_of(filter)) {
            Tally& tally = tallies[meanings_[constraint].name];
            if (tally.last == turn) continue;
            tally.last = turn;
            if (tally.filters++ == 0) named.push_back(meanings_[constraint].name);
        }
    }

    Interning filters_, constraints_, names_;
    std::vector<Meaning> meanings_;                   // by constraint
    std::vector<std::uint32_t> filters_begin_;        // by filter: its constraints
    std::vector<std::uint32_t> filter_constraints_;
    std::vector<std::uint64_t> pairs_;                // (interface, filter)
    std::vector<std::string_view> name_texts_;        // by the name's number in the index
    std::vector<std::uint32_t> constraint_numbers_;   // by constraint: its number in the index
    Groups by_owner_;
    Index* index_ = nullptr;
};

}  // namespace cbn::paper
