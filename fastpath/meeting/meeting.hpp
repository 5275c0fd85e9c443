// What one router holds of descriptors and matches, and what of it each neighbour is told (MM 2, 5.4; decision 31).
//
// What comes over a link is held until it is withdrawn there or the link is lost. It *counts* if it comes from where
// the trees say it must. What counts is sent on, descriptors by the marks of links, and compared: where a PCD and an
// SCD count that overlap, on the path between their routers, a match is made, and goes both ways along the path. A match
// that a neighbour has sent goes on away from it, so what is held has no circles.
//
// Everything else follows from what counts: after each change the keys that it concerns are settled, and what a
// neighbour has been told is brought up to date by differences. The judge is nodes/model/meeting.py.
#pragma once

#include <array>
#include <map>
#include <set>
#include <vector>

#include "meeting/held.hpp"
#include "meeting/pairs.hpp"
#include "meeting/update.hpp"
#include "meeting/ways.hpp"

namespace cbn::meeting {

// What is known of one key. It stays where it is as long as there is anything.
struct Entry {
    HeldList held{};
    FilterRef forwarded{};  // of a match: the filter by which messages are sent towards its subscriber
    FilterRef counted{};    // of a descriptor that counts: the filter that it counts with
    std::uint32_t told = 0;  // the set of interfaces on which it was told, by number
    bool counts = false;
    bool concerned = false;  // it is to be settled
    bool gone = false;       // its router has withdrawn it, until that is settled

    [[nodiscard]] bool empty() const noexcept { return held.empty() && told == 0 && !forwarded && !concerned && !gone; }
};

// An update for a neighbour.
struct Telling {
    int interface = 0;
    Update update{};
};

// A filter by which messages are to be forwarded towards a subscriber, or no longer.
struct Change {
    std::uint32_t subscriber = 0;
    FilterRef filter{};
    bool came = false;
};

// One end of a link that has joined.
struct End {
    Marks marks{};
    SetDigest sent{}, received{};
    std::uint64_t count = 0;  // how much is held from it
};

enum class Outcome { Taken, Again, Malformed, Refused, Full, Unknown };

class Meeting {
  public:
    using Entries = std::unordered_map<Key, Entry, KeyHash>;
    using Place = Entries::value_type;
    using Interfaces = std::vector<int>;  // ascending

    // `few`: so many filters of a sort are compared one by one.
    Meeting(std::uint32_t node, std::size_t few) : ways_(node), few_(few) { sets_.emplace_back(); }

    Ways& ways() noexcept { return ways_; }
    // For those who look on.
    [[nodiscard]] std::vector<const Place*> places() const {
        std::vector<const Place*> found;
        for (const Place& each : entries_) found.push_back(&each);
        return found;
    }
    // Whether there have been both sorts, so that they are compared.
    bool compares() const noexcept { return both_; }
    const Interfaces& told(const Entry& entry) const { return sets_[entry.told]; }
    // How many PCDs (0), SCDs (1) or matches (2) are held.
    [[nodiscard]] std::uint64_t held_of_sort(int sort) const { return counts_.at(static_cast<std::size_t>(sort)); }
    // How much is held from a link that has joined, and the digests of what was told there and of what came.
    [[nodiscard]] std::uint64_t count(int interface) const { return ends_.at(interface).count; }
    [[nodiscard]] std::string digest(int interface, bool sent) const {
        const End& end = ends_.at(interface);
        return (sent ? end.sent : end.received).bytes();
    }

    // Take an update from a neighbour; all but `Taken` and `Unknown` change nothing.
    Outcome take(int interface, const Update& update, std::uint64_t limit) {
        const auto end = ends_.find(interface);
        if (end == ends_.end()) return Outcome::Refused;
        const Key& key = update.key;
        if ((update.flags & WITHDRAWN) != 0) {
            return withdraw(interface, key, (update.flags & KEPT) != 0) ? Outcome::Taken : Outcome::Unknown;
        }
        if ((update.flags & AGAIN) != 0 && holds(interface, key)) return Outcome::Again;
        if (!key.is_match() && !end->second.marks.carries_in(key.publisher != 0)) return Outcome::Refused;
        return hold(interface, key, update.filter, limit);
    }

    // Something has come over a link.
    Outcome hold(int interface, const Key& key, const FilterRef& filter, std::uint64_t limit) {
        End& end = ends_.at(interface);
        if (end.count >= limit) return Outcome::Full;
        if (put(interface, key, filter)) {
            ++end.count;
            end.received.toggle(key);
        }
        return Outcome::Taken;
    }

    // Something is withdrawn over a link; whether anything was known of it.
    bool withdraw(int interface, const Key& key, bool kept) {
        if (holds(interface, key)) {
            End& end = ends_.at(interface);
            --end.count;
            end.received.toggle(key);
        }
        return take_back(interface, key, kept);
    }

    // Something has come; whether it was not held from there.
    bool put(int interface, const Key& key, const FilterRef& filter) {
        Place& place = *entries_.try_emplace(key).first;
        Entry& entry = place.second;
        if (entry.held.from(interface) != nullptr) return false;
        entry.held.add(interface, filter);
        if (entry.held.size() == 1) {
            ++counts_[sort_of(key)];
            if (key.is_match()) {
                matches_[key.published()].insert(key);
                matches_[key.wanted()].insert(key);
            }
        }
        concern(place);
        return true;
    }

    // Something is withdrawn; whether anything was known of it. A descriptor that its router has withdrawn (not
    // `kept`) takes the matches with it that it has made.
    bool take_back(int interface, const Key& key, bool kept) {
        const bool known = release(interface, key);
        if (!key.is_match() && !kept && (known || matches_.contains(key))) {
            const bool from_owner = interface == OURS || ways_.is_from(interface, key.owner());
            if (from_owner) {
                Place& place = *entries_.try_emplace(key).first;
                place.second.gone = true;
                concern(place);
            }
            return known || from_owner;
        }
        return known;
    }

    [[nodiscard]] bool holds(int interface, const Key& key) const {
        const auto found = entries_.find(key);
        return found != entries_.end() && found->second.held.from(interface) != nullptr;
    }

    // Our own descriptors, and the matches that were made here, ascending.
    [[nodiscard]] std::vector<Key> ours() const {
        return keys_where([](const Key&, const Entry& entry) { return entry.held.from(OURS) != nullptr; });
    }

    // Whether both descriptors of a match count here.
    [[nodiscard]] bool still_makes(const Key& match) {
        return counts_here(match.published()) && counts_here(match.wanted());
    }

    // A match counts as made here no longer.
    void unmake(const Key& match) { static_cast<void>(release(OURS, match)); }

    // Something that is held is told again there, or is ours: notes whom to tell.
    void again(int interface, const Key& key) {
        const auto found = entries_.find(key);
        if (found == entries_.end()) return;
        const Interfaces& counting = counting_of(key, found->second);
        if (!std::binary_search(counting.begin(), counting.end(), interface)) return;
        const Interfaces& told = sets_[found->second.told];
        const Interfaces& along = key.is_match() ? along_of(key, {interface}) : told;
        const Held* held = found->second.held.from(interface);
        for (const int each : told) {
            if (std::binary_search(along.begin(), along.end(), each)) tell_one(each, {key, held->filter, AGAIN}, false);
        }
    }

    // A link has joined: nothing has gone over it.
    void join(int interface) { ends_[interface] = End(); }

    void mark(int interface, bool published_out, bool wanted_out, bool published_in, bool wanted_in) {
        ends_.at(interface).marks = {published_out, wanted_out, published_in, wanted_in};
    }

    // A link is gone: what came over it is void, and what was told there too.
    void lose(int interface) {
        ends_.erase(interface);
        for (auto& [key, entry] : entries_) {
            if (entry.told != 0) entry.told = without(entry.told, interface);
        }
        for (const Key& key : held_from(interface)) static_cast<void>(release(interface, key));
    }

    // No PCDs (or SCDs) come over a link any more, which both ends know; the matches they made stay.
    void forget_held(int interface, bool published) {
        End& end = ends_.at(interface);
        for (const Key& key : held_from(interface)) {
            if (!key.is_sort(published)) continue;
            static_cast<void>(release(interface, key));
            --end.count;
            end.received.toggle(key);
        }
    }

    // No PCDs (or SCDs) are told over a link any more, which both ends know.
    void forget_told(int interface, bool published) {
        End& end = ends_.at(interface);
        for (Place& place : entries_) {
            auto& [key, entry] = place;
            if (!key.is_sort(published) || !has(entry.told, interface)) continue;
            entry.told = without(entry.told, interface);
            concern(place);
            end.sent.toggle(key);
        }
    }

    // A link may carry PCDs (or SCDs) now that did not.
    void reconsider(bool published) {
        for (Place& place : entries_) {
            if (place.first.is_sort(published) && !place.second.held.empty()) concern(place);
        }
    }

    // The trees, or those who publish and subscribe, are others now: `ways` has been told.
    void turn() {
        pairs_ = std::make_unique<Pairs>(few_);
        both_ = false;
        counting_ = {};
        for (auto& [key, entry] : entries_) {
            entry.counts = false;
            entry.counted = {};
        }
        for (const Key& key : ours()) {
            if (key.is_match() && !ways_.is_between(key.publisher, key.subscriber)) static_cast<void>(release(OURS, key));
        }
        for (Place& place : entries_) concern(place);
    }

    // After all that has happened since: what is to be told is in `tellings`, how forwarding changes in `changes`.
    void settle() {
        while (!concerned_.empty()) {
            take_concerned();
            for (Place* const place : taken_) {
                settle(*place);
                if (place->second.empty()) entries_.erase(Key(place->first));
            }
        }
        answered_.clear();
    }
    std::vector<Telling> tellings{};
    std::vector<Change> changes{};

  private:
    [[nodiscard]] static std::size_t sort_of(const Key& key) noexcept {
        return key.is_match() ? 2 : key.publisher != 0 ? 0 : 1;
    }

    void concern(Place& place) {
        if (place.second.concerned) return;
        place.second.concerned = true;
        concerned_.push_back(&place);
    }

    // What is settled next, ascending: descriptors before matches, as their changes make and unmake these.
    void take_concerned() {
        taken_.clear();
        taken_.swap(concerned_);
        const auto matches = std::partition(taken_.begin(), taken_.end(), [](Place* each) { return !each->first.is_match(); });
        if (matches != taken_.begin()) {
            concerned_.assign(matches, taken_.end());
            taken_.erase(matches, taken_.end());
        }
        std::sort(taken_.begin(), taken_.end(), [](Place* one, Place* other) { return one->first < other->first; });
        for (Place* const place : taken_) place->second.concerned = false;
    }

    template <typename Wanted>
    [[nodiscard]] std::vector<Key> keys_where(Wanted&& wanted) const {
        std::vector<Key> found;
        for (const auto& [key, entry] : entries_) {
            if (wanted(key, entry)) found.push_back(key);
        }
        std::sort(found.begin(), found.end());
        return found;
    }
    [[nodiscard]] std::vector<Key> held_from(int interface) const {
        return keys_where([&](const Key&, const Entry& entry) { return entry.held.from(interface) != nullptr; });
    }

    bool release(int interface, const Key& key) {
        const auto found = entries_.find(key);
        if (found == entries_.end()) return false;
        if (!found->second.held.remove(interface)) return false;
        if (found->second.held.empty()) {
            --counts_[sort_of(key)];
            if (key.is_match()) {
                forget_match(key.published(), key);
                forget_match(key.wanted(), key);
            }
        }
        concern(*found);
        return true;
    }
    void forget_match(const Key& descriptor, const Key& match) {
        const auto found = matches_.find(descriptor);
        found->second.erase(match);
        if (found->second.empty()) matches_.erase(found);
    }

    void settle(Place& place) {
        if (place.first.is_match()) {
            settle_match(place);
        } else {
            settle_descriptor(place);
        }
    }

    void settle_match(Place& place) {
        auto& [key, entry] = place;
        Interfaces& sources = counting_of(key, entry);
        if (!sources.empty() && refute(key)) sources.clear();
        const FilterRef filter = sources.empty() ? FilterRef() : entry.held.from(sources.front())->filter;
        forward(key, entry, filter);
        tell(place, filter, along_of(key, sources), false);
    }

    void settle_descriptor(Place& place) {
        auto& [key, entry] = place;
        const Interfaces& sources = counting_of(key, entry);
        const bool counts = !sources.empty(), gone = entry.gone && !counts;
        entry.gone = false;
        const FilterRef filter = counts ? entry.held.from(sources.front())->filter : FilterRef();
        compare(place, filter, counts);
        const std::size_t mark = tellings.size();
        tell(place, filter, counts ? spread(key) : nowhere(), !gone);
        if (gone) withdraw_matches(key, mark);
    }

    // Whether it is a match of a descriptor of ours that there is no more; whoever made it is told so.
    bool refute(const Key& match) {
        const std::array<std::pair<Key, std::uint32_t>, 2> ends = {
            {{match.published(), match.subscriber}, {match.wanted(), match.publisher}}};
        for (const auto& [descriptor, other] : ends) {
            if (descriptor.owner() != ways_.node() || holds(OURS, descriptor)) continue;
            const std::optional<int> interface = ways_.towards(other);
            if (interface && !answered_.contains(match)) tell_one(*interface, {descriptor, {}, WITHDRAWN}, false);
            return true;
        }
        return false;
    }

    // A descriptor is gone: so are the matches that it made, here and along their paths. `mark`: where in `tellings` begins
    // what was said of it already.
    void withdraw_matches(const Key& key, std::size_t mark) {
        const auto found = matches_.find(key);
        if (found == matches_.end()) return;
        const std::set<Key> matches = found->second;
        answered_.insert(matches.begin(), matches.end());
        for (const Key& match : matches) {
            const std::optional<int> interface = ways_.towards(key.publisher != 0 ? match.subscriber : match.publisher);
            const auto knows = [&](const Telling& each) { return each.interface == *interface; };
            if (!interface || std::any_of(tellings.begin() + static_cast<std::ptrdiff_t>(mark), tellings.end(), knows)) continue;
            tell_one(*interface, {key, {}, WITHDRAWN}, false);
        }
        for (const Key& match : matches) static_cast<void>(release(OURS, match));
    }

    [[nodiscard]] bool counts_here(const Key& descriptor) {
        const auto found = entries_.find(descriptor);
        return found != entries_.end() && !counting_of(descriptor, found->second).empty();
    }

    // From where it is held that counts, ascending.
    [[nodiscard]] Interfaces& counting_of(const Key& key, const Entry& entry) {
        Interfaces& found = sources_;
        found.clear();
        if (entry.held.empty() || (key.is_match() && !ways_.is_between(key.publisher, key.subscriber))) return found;
        for (const Held& each : entry.held) {
            const bool counts = each.interface == OURS ||
                                (key.publisher != 0 && ways_.is_from(each.interface, key.publisher)) ||
                                (key.subscriber != 0 && ways_.is_from(each.interface, key.subscriber));
            if (counts) found.push_back(each.interface);
        }
        return found;
    }

    // Where a descriptor goes on: PCDs over p-links, SCDs over s-links.
    [[nodiscard]] const Interfaces& spread(const Key& key) {
        Interfaces& found = to_;
        found.clear();
        for (const int each : ways_.onward(key)) {
            const auto end = ends_.find(each);
            if (end != ends_.end() && end->second.marks.carries_out(key.publisher != 0)) found.push_back(each);
        }
        return found;
    }

    [[nodiscard]] const Interfaces& nowhere() {
        to_.clear();
        return to_;
    }

    // Where a match goes on: both ways from where it was made, else away from who sent it.
    [[nodiscard]] const Interfaces& along_of(const Key& key, const Interfaces& sources) {
        Interfaces& found = to_;
        found.clear();
        const std::array<std::pair<std::uint32_t, std::uint32_t>, 2> ways = {
            {{key.publisher, key.subscriber}, {key.subscriber, key.publisher}}};
        for (const auto& [end, other] : ways) {
            const auto comes = [&](int each) { return each == OURS || ways_.is_from(each, other); };
            const std::optional<int> interface = ways_.towards(end);
            if (interface && std::any_of(sources.begin(), sources.end(), comes)) found.push_back(*interface);
        }
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    // Make the matches of a descriptor that counts. Those it has made stay when it does not. While all that counts is of one
    // sort, as on most routers where one sort is broadcast, nothing is compared.
    void compare(Place& place, const FilterRef& filter, bool counts) {
        auto& [key, entry] = place;
        std::uint64_t& counting = counting_[sort_of(key)];
        if (entry.counts && !counts) {
            entry.counts = false;
            --counting;
            if (both_) pairs_->remove(key, entry.counted);
            entry.counted = {};
        } else if (counts && !entry.counts) {
            entry.counts = true;
            ++counting;
            entry.counted = filter;
            make_matches(place);
        } else if (counts && !both_) {
            entry.counted = filter;
        }
    }

    void make_matches(const Place& place) {
        made_.clear();
        if (both_) {
            pairs_->add(place.first, place.second.counted, made_);
        } else if (counting_[0] > 0 && counting_[1] > 0) {
            both_ = true;
            for (const auto& [key, entry] : entries_) {
                if (entry.counts) pairs_->add(key, entry.counted, made_);
            }
        }
        for (const Pair& each : made_) {
            if (ways_.is_between(each.match.publisher, each.match.subscriber)) {
                static_cast<void>(put(OURS, each.match, each.wanted));
            }
        }
    }

    // Count the matches for which messages are sent towards a subscriber by its filter.
    void forward(const Key& key, Entry& entry, const FilterRef& filter) {
        const FilterRef wanted = filter && ways_.towards(key.subscriber) ? filter : FilterRef();
        if (entry.forwarded == wanted) return;
        if (wanted && ++uses_[{key.subscriber, wanted.get()}] == 1) changes.push_back({key.subscriber, wanted, true});
        if (entry.forwarded) {
            const auto use = uses_.find({key.subscriber, entry.forwarded.get()});
            if (--use->second == 0) {
                uses_.erase(use);
                changes.push_back({key.subscriber, entry.forwarded, false});
            }
        }
        entry.forwarded = wanted;
    }

    void tell(Place& place, const FilterRef& filter, const Interfaces& to, bool kept) {
        auto& [key, entry] = place;
        const Interfaces& before = sets_[entry.told];
        if (to == before) return;
        for (const int each : to) {
            if (!std::binary_search(before.begin(), before.end(), each)) tell_one(each, {key, filter, 0}, true);
        }
        const auto flags = static_cast<std::uint8_t>(kept ? WITHDRAWN | KEPT : WITHDRAWN);
        for (const int each : before) {
            if (!std::binary_search(to.begin(), to.end(), each)) tell_one(each, {key, {}, flags}, true);
        }
        entry.told = number_of(to);
    }

    // `counts`: whether the neighbour knows it from now on, or no longer.
    void tell_one(int interface, Update update, bool counts) {
        const auto end = ends_.find(interface);
        if (end == ends_.end()) return;
        if (counts) end->second.sent.toggle(update.key);
        tellings.push_back({interface, std::move(update)});
    }

    // Most keys go to one of few sets of interfaces, each of which is kept once; the empty one is 0.
    [[nodiscard]] std::uint32_t number_of(const Interfaces& to) {
        if (to.empty()) return 0;
        const auto known = numbers_.find(to);
        if (known != numbers_.end()) return known->second;
        sets_.push_back(to);
        return numbers_.emplace(to, static_cast<std::uint32_t>(sets_.size() - 1)).first->second;
    }
    [[nodiscard]] bool has(std::uint32_t set, int interface) const {
        return std::binary_search(sets_[set].begin(), sets_[set].end(), interface);
    }
    [[nodiscard]] std::uint32_t without(std::uint32_t set, int interface) {
        Interfaces left = sets_[set];
        left.erase(std::remove(left.begin(), left.end(), interface), left.end());
        return number_of(left);
    }

    Ways ways_;
    std::map<int, End> ends_{};
    Entries entries_{};
    std::size_t few_;
    std::unique_ptr<Pairs> pairs_ = std::make_unique<Pairs>(few_);
    std::array<std::uint64_t, 2> counting_{};  // how many PCDs and SCDs count
    bool both_ = false;                        // whether there have been both, since the trees were turned
    std::unordered_map<Key, std::set<Key>, KeyHash> matches_{};  // those held, by either of their descriptors
    std::map<std::pair<std::uint32_t, const Filter*>, std::uint64_t> uses_{};
    std::vector<Interfaces> sets_{};
    std::map<Interfaces, std::uint32_t> numbers_{};
    std::vector<Place*> concerned_{}, taken_{};
    std::set<Key> answered_{};  // the matches whose makers are being told that a descriptor of ours is gone
    std::vector<Pair> made_{};
    Interfaces sources_{}, to_{};  // found last
    std::array<std::uint64_t, 3> counts_{};
};

}  // namespace cbn::meeting
