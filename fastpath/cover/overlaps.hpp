// Which of many filters overlap what somebody advertises, kept at hand while both come and go (E14).
//
// For every filter and owner of advertisements the number of the owner's that overlap the filter is kept, so that a
// change of an advertisement costs what overlaps it, and says for which filters it makes a difference.
#pragma once

#include <deque>
#include <map>

#include "cover/adverts.hpp"
#include "cover/hull.hpp"

namespace cbn::cover {

class Overlaps {
  public:
    // Filters and advertisements are normalized. What was added twice stays until it is removed twice.
    void add(std::string filter) {
        const auto [at, fresh] = filters_.insert(std::move(filter));
        Wanted& wanted = filters_.members[at];
        if (!fresh) return;
        static_cast<void>(read_form(wire_bytes(wanted.bytes), wanted.form));
        if (wanted.form.contradictory) return;
        by_one_.add(at, wanted.form.attributes);
        const Hull hull = filter_hulls_.at(at) = hulls_.of(wanted.form);
        offers_for(wanted.form, hull, [&](std::uint32_t each) {
            for (const auto& [owner, copies] : offers_.members[each].owners) ++wanted.offered[owner];
        });
    }

    // Whether it was there.
    bool remove(const std::string& filter) {
        const std::uint32_t at = filters_.find(filter);
        if (at == NONE) return false;
        if (filters_.members[at].copies == 1 && !filters_.members[at].form.contradictory) {
            by_one_.remove(at);
            hulls_.release(filter_hulls_.at(at));
        }
        filters_.drop(at);
        return true;
    }

    // Appends the filters that nothing of the owner's overlapped before.
    void advertise(std::uint32_t owner, std::string advertisement, std::vector<std::string>& gained) {
        const auto [at, fresh] = offers_.insert(std::move(advertisement));
        Offer& offer = offers_.members[at];
        if (fresh) {
            static_cast<void>(read_advertisement(wire_bytes(offer.bytes), offer.form));
            by_all_.add(at, offer.form);
            offer_hulls_.at(at) = hulls_.of(offer.form);
        }
        if (++offer.owners[owner] > 1) return;
        wanted_by(offer.form, offer_hulls_.at(at), [&](Wanted& wanted) {
            if (++wanted.offered[owner] == 1) gained.push_back(wanted.bytes);
        });
    }

    // Whether it was there; appends the filters that nothing of the owner's overlaps any more.
    bool withdraw(std::uint32_t owner, const std::string& advertisement, std::vector<std::string>& lost) {
        const std::uint32_t at = offers_.find(advertisement);
        if (at == NONE || !offers_.members[at].owners.contains(owner)) return false;
        Offer& offer = offers_.members[at];
        if (--offer.owners[owner] == 0) {
            offer.owners.erase(owner);
            wanted_by(offer.form, offer_hulls_.at(at), [&](Wanted& wanted) {
                if (--wanted.offered[owner] > 0) return;
                wanted.offered.erase(owner);
                lost.push_back(wanted.bytes);
            });
        }
        if (offer.copies == 1) {
            by_all_.remove(at, offer.form);
            hulls_.release(offer_hulls_.at(at));
        }
        offers_.drop(at);
        return true;
    }

    // Appends who advertises something that overlaps a filter, ascending; false if the filter was not added.
    bool owners(const std::string& filter, std::vector<std::uint32_t>& out) const {
        const std::uint32_t at = filters_.find(filter);
        if (at == NONE) return false;
        for (const auto& [owner, count] : filters_.members[at].offered) out.push_back(owner);
        return true;
    }

    [[nodiscard]] std::size_t filters() const noexcept { return filters_.ids.size(); }
    [[nodiscard]] std::size_t advertisements() const noexcept { return offers_.ids.size(); }

  private:
    struct Wanted {
        std::string bytes{};
        std::uint32_t copies = 0;
        Form form{};
        std::map<std::uint32_t, std::uint32_t> offered{};  // by owner, how many advertisements overlap it
    };
    struct Offer {
        std::string bytes{};
        std::uint32_t copies = 0;
        Advertisement form{};
        std::map<std::uint32_t, std::uint32_t> owners{};  // and how often each advertises it
    };

    // Members by their bytes, at places that stay.
    template <typename Member>
    struct Interned {
        std::deque<Member> members{};
        std::unordered_map<std::string_view, std::uint32_t> ids{};
        std::vector<std::uint32_t> free{};

        [[nodiscard]] std::uint32_t find(const std::string& bytes) const {
            const auto known = ids.find(bytes);
            return known == ids.end() ? NONE : known->second;
        }
        // One copy more; where it is, and whether it is new.
        std::pair<std::uint32_t, bool> insert(std::string bytes) {
            std::uint32_t at = find(bytes);
            const bool fresh = at == NONE;
            if (fresh) {
                if (free.empty()) {
                    free.push_back(static_cast<std::uint32_t>(members.size()));
                    members.emplace_back();
                }
                at = free.back();
                free.pop_back();
                members[at].bytes = std::move(bytes);
                ids.emplace(members[at].bytes, at);
            }
            ++members[at].copies;
            return {at, fresh};
        }
        // One copy less.
        void drop(std::uint32_t at) {
            if (--members[at].copies > 0) return;
            ids.erase(members[at].bytes);
            members[at] = Member{};
            free.push_back(at);
        }
    };

    [[nodiscard]] static Bytes wire_bytes(const std::string& data) noexcept {
        return {reinterpret_cast<const std::uint8_t*>(data.data()), data.size()};
    }

    template <typename Visit>
    void offers_for(const Form& filter, const Hull& hull, Visit&& visit) {
        if (filter.attributes.empty()) {
            for (const auto& [bytes, at] : offers_.ids) visit(at);
            return;
        }
        static_cast<void>(by_all_.find(filter.attributes, [&](std::uint32_t at) {
            if (!hull.apart(offer_hulls_.at(at)) && overlaps(offers_.members[at].form, filter)) visit(at);
            return false;
        }));
    }

    template <typename Visit>
    void wanted_by(const Advertisement& offered, Hull hull, Visit&& visit) {
        by_one_.find(offered, [&](std::uint32_t at) {
            if (hull.apart(filter_hulls_.at(at))) return;
            if (overlaps(offered, filters_.members[at].form)) visit(filters_.members[at]);
        });
    }

    // By the place of a member. They lie side by side, so that all are looked at in no time.
    class HullsAt {
      public:
        [[nodiscard]] Hull& at(std::uint32_t place) {
            if (place >= hulls_.size()) hulls_.resize(place + 1);
            return hulls_[place];
        }

      private:
        std::vector<Hull> hulls_;
    };

    Interned<Wanted> filters_;
    Interned<Offer> offers_;
    Hulls hulls_;
    HullsAt filter_hulls_, offer_hulls_;
    ByAllAttributes by_all_;
    ByOneAttribute by_one_;
};

}  // namespace cbn::cover
