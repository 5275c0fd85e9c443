// The boolean network, right-hand side of the forwarding table (FWD 4.1): from satisfied constraints to
// filters to interfaces, by counting.
//
// Interfaces are known by their places in ascending order. Filters have an owner: the interface they belong
// to, or a set of interfaces that share them (F2). They are numbered owner by owner, so that the list of a
// constraint's filters falls into runs, and the run of an owner that is decided is passed over in one go.
// What is built before matching begins is in paper/building.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "match/index.hpp"
#include "paper/constraints.hpp"

namespace cbn::paper {

// A bit vector of a size set once a message (FWD 4.1: "all the sets can be bit vectors").
class Flags {
  public:
    void assign(std::size_t size, bool value) {
        words_.assign((size + 63) / 64, value ? ~std::uint64_t{0} : 0);
        if (value && size % 64 != 0) words_.back() = (std::uint64_t{1} << (size % 64)) - 1;
    }
    [[nodiscard]] bool test(std::uint32_t at) const noexcept { return ((words_[at / 64] >> (at % 64)) & 1U) != 0; }
    void set(std::uint32_t at) noexcept { words_[at / 64] |= std::uint64_t{1} << (at % 64); }
    void clear(std::uint32_t at) noexcept { words_[at / 64] &= ~(std::uint64_t{1} << (at % 64)); }

    // Removes the members of a set given as words; its member 0 is `from` here, a multiple of 64.
    void subtract(std::uint32_t from, std::span<const std::uint64_t> others) noexcept {
        std::uint64_t* const words = words_.data() + from / 64;
        for (std::size_t at = 0; at < others.size(); ++at) words[at] &= ~others[at];
    }

    // How many members there are from `from` on, a multiple of 64. Written so that any x86-64 has it in vectors.
    [[nodiscard]] std::size_t count(std::uint32_t from) const noexcept {
        constexpr std::uint64_t odd = 0x5555555555555555U, pairs = 0x3333333333333333U, nibbles = 0x0F0F0F0F0F0F0F0FU;
        std::uint64_t total = 0;
        for (std::size_t at = from / 64; at < words_.size(); ++at) {
            std::uint64_t word = words_[at];
            word -= (word >> 1) & odd;
            word = (word & pairs) + ((word >> 2) & pairs);
            word = (word + (word >> 4)) & nibbles;
            word += word >> 8;
            word += word >> 16;
            total += (word + (word >> 32)) & 0x7F;
        }
        return static_cast<std::size_t>(total);
    }

    // The first member from `at` on, or NONE.
    [[nodiscard]] std::uint32_t next(std::uint32_t at) const noexcept {
        std::size_t word = at / 64;
        if (word >= words_.size()) return NONE;
        std::uint64_t left = words_[word] & (~std::uint64_t{0} << (at % 64));
        while (left == 0) {
            if (++word == words_.size()) return NONE;
            left = words_[word];
        }
        return static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(left)));
    }

  private:
    std::vector<std::uint64_t> words_;
};

// FWD's `counters`, for filters by number. A count is valid if it has the number of the present message, so
// nothing is cleared between messages but once in 65,535.
class Counters {
  public:
    void begin(std::size_t filters) {
        if (counts_.size() < filters) counts_.resize(filters);
        message_ += 1U << 16;
        if (message_ != 0) return;
        std::fill(counts_.begin(), counts_.end(), 0);
        message_ = 1U << 16;
    }
    // The count of the filter with one more. A filter has at most 65,535 constraints.
    std::uint32_t raise(std::uint32_t filter) noexcept {
        std::uint32_t& count = counts_[filter];
        count = (count & 0xFFFF0000U) == message_ ? count + 1 : message_ + 1;
        return count & 0xFFFFU;
    }

  private:
    std::vector<std::uint32_t> counts_;
    std::uint32_t message_ = 0;
};

struct Network {
    std::vector<std::uint32_t> interfaces;    // ids, ascending
    std::vector<std::uint32_t> links_begin;   // by constraint, and one more
    std::vector<std::uint32_t> links;         // filters, ascending for each constraint
    std::vector<std::uint32_t> owners;        // by filter
    std::vector<std::uint16_t> sizes;         // by filter
    std::vector<std::uint32_t> first_filter;  // by owner, and one more
    std::uint32_t first_interface = 0;        // the owner at place 0: a multiple of 64, after all that share
    bool long_runs = true;                    // owners have many filters
    std::vector<std::uint32_t> shares_begin;  // by sharing owner, and one more
    std::vector<std::uint32_t> shares;        // places of interfaces
    std::vector<std::uint32_t> universal;     // places of interfaces with a filter of no constraints (E5)

    // How many owners share.
    [[nodiscard]] std::uint32_t sharing() const noexcept {
        return shares_begin.empty() ? 0 : static_cast<std::uint32_t>(shares_begin.size() - 1);
    }
    [[nodiscard]] std::span<const std::uint32_t> members(std::uint32_t owner) const noexcept {
        return {shares.data() + shares_begin[owner], shares.data() + shares_begin[owner + 1]};
    }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return sizeof(std::uint32_t) * (interfaces.capacity() + links_begin.capacity() + links.capacity() +
                                        owners.capacity() + first_filter.capacity() + shares_begin.capacity() +
                                        shares.capacity() + universal.capacity()) +
               sizeof(std::uint16_t) * sizes.capacity();
    }
};

// What one thread keeps between messages. Serves any number of tables in turn.
struct State : MatchState {
    struct Present {
        std::uint32_t name = 0;
        wire::ValueView value{};
    };
    Counters counters;
    SeenPartials seen;
    Flags open;     // by owner; FWD's ifs_to_ignore is what is not open
    Flags matched;  // by place of the interface
    std::vector<Present> present;
    Flags named;  // names of the message, by number
    std::size_t undecided = 0;
    std::size_t eliminated = 0;  // interfaces that the selectivity table ruled out (F6)
};

// One message's way through the network: the body of the inner loops of FWD Fig. 4.
class Counting {
  public:
    Counting(const Network& network, State& state) : network_(network), state_(state) {}

    // Every interface in `allowed` (null: all), but for `except`, is open, and no filter has been counted.
    void begin(const Bits* allowed, std::uint32_t except) {
        const std::size_t count = network_.interfaces.size();
        state_.counters.begin(network_.owners.size());
        state_.matched.assign(count, false);
        state_.open.assign(network_.first_interface + count, true);
        state_.undecided = count;
        for (std::uint32_t place = 0; allowed != nullptr && place < count; ++place) {
            if (!allowed->test(network_.interfaces[place])) decide(place);
        }
        const auto found = std::lower_bound(network_.interfaces.begin(), network_.interfaces.end(), except);
        if (found != network_.interfaces.end() && *found == except) {
            decide(static_cast<std::uint32_t>(found - network_.interfaces.begin()));
        }
    }

    void take_universal() {
        for (const std::uint32_t place : network_.universal) match(place);
    }

    // Takes interfaces out of consideration, given as a bit vector and a list of places; `recount` is to follow.
    void ignore(std::span<const std::uint64_t> set, std::span<const std::uint32_t> list) {
        state_.open.subtract(network_.first_interface, set);
        for (const std::uint32_t place : list) state_.open.clear(network_.first_interface + place);
    }

    // Says how many interfaces have been ignored.
    std::size_t recount() {
        const std::size_t before = state_.undecided;
        state_.undecided = state_.open.count(network_.first_interface);
        picking_ = !network_.long_runs && state_.undecided < network_.interfaces.size() / 8 * 7;
        return before - state_.undecided;
    }

    // A constraint is satisfied: counts it for all its filters whose interfaces are not decided yet. False once
    // all interfaces are.
    bool operator()(std::uint32_t constraint) {
        const std::uint32_t* const at = network_.links.data() + network_.links_begin[constraint];
        const std::uint32_t* const end = network_.links.data() + network_.links_begin[constraint + 1];
        return picking_ ? pick(at, end) : count_runs(at, end);
    }

    // Counts what has been put aside: to be called after the last constraint.
    bool finish() {
        bool open = true;
        for (std::size_t each = 0; open && each < picked_count_; ++each) {
            open = count(picked_[each], network_.owners[picked_[each]]);
        }
        picked_count_ = 0;
        return open;
    }

  private:
    // Whether the interface was open until now.
    bool decide(std::uint32_t place) {
        const std::uint32_t owner = network_.first_interface + place;
        if (!state_.open.test(owner)) return false;
        state_.open.clear(owner);
        --state_.undecided;
        return true;
    }

    void match(std::uint32_t place) {
        if (decide(place)) state_.matched.set(place);
    }

    void satisfy(std::uint32_t owner) {
        if (owner >= network_.first_interface) return match(owner - network_.first_interface);
        for (const std::uint32_t place : network_.members(owner)) match(place);
        state_.open.clear(owner);
    }

    // An owner that shares is open as long as one of its interfaces is; that it no longer is, is noted when seen.
    bool is_open(std::uint32_t owner) {
        if (!state_.open.test(owner)) return false;
        if (owner >= network_.first_interface) return true;
        for (const std::uint32_t place : network_.members(owner)) {
            if (state_.open.test(network_.first_interface + place)) return true;
        }
        state_.open.clear(owner);
        return false;
    }

    // Looks at each filter in turn; what a decided owner has here is passed over as a whole.
    bool count_runs(const std::uint32_t* at, const std::uint32_t* end) {
        while (at != end) {
            const std::uint32_t filter = *at;
            const std::uint32_t owner = network_.owners[filter];
            if (!is_open(owner)) {
                at = pass_over(at, end, owner);
            } else {
                if (!count(filter, owner)) return false;
                ++at;
            }
        }
        return true;
    }

    // For owners of few filters, many of which are ignored: the open ones are put aside without a branch, which would
    // be guessed wrong as often as not, and counted together.
    bool pick(const std::uint32_t* at, const std::uint32_t* end) {
        while (at != end) {
            const auto room = static_cast<std::ptrdiff_t>(picked_.size() - picked_count_);
            const std::uint32_t* const stop = end - at > room ? at + room : end;
            std::size_t count = picked_count_;
            for (; at != stop; ++at) {
                picked_[count] = *at;
                count += state_.open.test(network_.owners[*at]) ? 1 : 0;
            }
            picked_count_ = count;
            if (count == picked_.size() && !finish()) return false;
        }
        return true;
    }

    // False once all interfaces are decided.
    bool count(std::uint32_t filter, std::uint32_t owner) {
        if (state_.counters.raise(filter) == network_.sizes[filter]) satisfy(owner);
        return state_.undecided != 0;
    }

    // Past a filter whose owner is decided. If another of the same owner follows, to the next open owner's.
    const std::uint32_t* pass_over(const std::uint32_t* at, const std::uint32_t* end, std::uint32_t owner) const {
        if (++at == end || network_.owners[*at] != owner) return at;
        const std::uint32_t next = state_.open.next(owner + 1);
        if (next == NONE) return end;
        const std::uint32_t wanted = network_.first_filter[next];
        constexpr std::ptrdiff_t few = 16;
        while (end - at > few && at[few] < wanted) at += few;
        while (at != end && *at < wanted) ++at;
        return at;
    }

    const Network& network_;
    State& state_;
    bool picking_ = false;
    std::size_t picked_count_ = 0;
    std::array<std::uint32_t, 256> picked_;  // not filled in before it is used
};

}  // namespace cbn::paper
