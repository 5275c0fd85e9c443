// One commit of the `fast` engine: from the table that stands and the changes that wait to the next table.
//
// The next table starts as a copy that shares everything, and takes new blobs where something changed. If
// memory runs out on the way, the table that stands and the waiting changes are as they were; the writer's
// lists are then read anew from the records.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "match/engine.hpp"
#include "match/filing.hpp"
#include "match/hide.hpp"
#include "match/rebuild.hpp"

namespace cbn::fast {

class Commit {
  public:
    explicit Commit(FastEngine& engine)
        : engine_(engine),
          old_(*engine.current_),
          next_(std::make_shared<FastIndex>()),
          operands_(engine.operands_.view()),
          patterns_((engine.patterns_.settle(), engine.patterns_.view())),
          hider_(operands_, patterns_),
          rebuilder_(operands_) {
        next_->pages = old_.pages;
        next_->blocks = old_.blocks;
        next_->pages.edit();
        next_->blocks.edit();
    }

    void run() {
        take_out();
        sort_added();
        refold();
        recheck();
        file_added();
        rebuild_blocks();
        std::sort(others_.begin(), others_.end());
        write_records(next_->pages, engine_.added_, others_);
        finish();
    }

  private:
    struct Fold {
        std::uint32_t key, slot, interface;
        Term term;
    };
    struct KeyInterface {
        std::uint32_t key, interface;
        auto operator<=>(const KeyInterface&) const = default;
    };

    [[nodiscard]] bool text(std::uint32_t key) const noexcept { return engine_.text_key(key); }

    void read_terms(const RecordView& record) {
        terms_.clear();
        for (const std::uint8_t* at = record.terms; at < record.end;) {
            const CodedTerm coded = get_term(at);
            terms_.push_back({coded.key, coded.test, value_of(coded.code, text(coded.key))});
        }
    }

    void replace(std::uint32_t slot) {
        others_.push_back({slot, static_cast<std::uint32_t>(record_.size()), arena_.put(record_)});
    }

    void vacate(std::uint32_t slot, std::uint32_t generation) {
        record_.clear();
        put_record_head(record_, Filing::Vacant, 0, generation + 1);
        replace(slot);
        vacated_.push_back(slot);
    }

    // --- What goes -----------------------------------------------------------------------------------------
    void take_out() {
        for (const std::uint32_t slot : engine_.removed_) {
            const RecordView record = engine_.committed(slot);
            read_terms(record);
            filters_ -= 1;
            constraints_ -= static_cast<std::ptrdiff_t>(terms_.size());
            engine_.counts_.down(record.interface);
            take_from_block(record, slot);
            vacate(slot, record.generation);
        }
    }

    void take_from_block(const RecordView& record, std::uint32_t slot) {
        const Term first = terms_.empty() ? Term{} : terms_[0];
        switch (record.filing) {
            case Filing::Fold:
                refolds_.push_back(first.key);
                rechecks_.push_back({first.key, record.interface});
                break;
            case Filing::Direct: change(first, Item::Interface, record.interface, true); break;
            case Filing::Posted:
                change(first, Item::Entry, make_entry(slot, terms_[1].key, record.interface), true);
                break;
            case Filing::Hidden: note_stale(first.key); break;
            default: break;
        }
    }

    void change(const Term& term, Item item, std::uint64_t what, bool removal) {
        const Place place = place_of(term, text(term.key), operands_);
        changes_.push_back({term.key, place.kind, item, removal, {place.value, what}});
    }

    void note_stale(std::uint32_t key) {
        KeyLists& lists = engine_.lists_[key];
        if (++lists.stale <= 64 + lists.hidden_count() / 2) return;
        for (std::uint32_t part = 0; part < lists.hidden.size(); ++part) sweeps_.push_back({key, part});
        lists.stale = 0;
    }

    // --- What comes ----------------------------------------------------------------------------------------
    // Single constraints are filed at once; filters of several wait until all masks are known.
    void sort_added() {
        std::sort(engine_.added_.begin(), engine_.added_.end());
        for (const Placed& placed : engine_.added_) {
            const RecordView record = read_record({placed.bytes, placed.size});
            if (!engine_.live_[placed.slot]) {
                vacate(placed.slot, record.generation);
                continue;
            }
            read_terms(record);
            filters_ += 1;
            constraints_ += static_cast<std::ptrdiff_t>(terms_.size());
            engine_.counts_.up(record.interface);
            if (terms_.size() > 1) continue;
            const Term only = terms_.empty() ? Term{} : terms_[0];
            if (only.test == Test::Never) {
                file(placed, Filing::Never);
            } else if (record.interface < FOLDED) {
                folds_.push_back({only.key, placed.slot, record.interface, only});
                refolds_.push_back(only.key);
                file(placed, Filing::Fold);
            } else {
                change(only, Item::Interface, record.interface, false);
                file(placed, Filing::Direct);
            }
        }
    }

    static void file(const Placed& placed, Filing filing) noexcept {
        placed.bytes[0] = static_cast<std::uint8_t>((placed.bytes[0] & 0x80U) | static_cast<unsigned>(filing));
    }

    // --- Masks ---------------------------------------------------------------------------------------------
    void refold() {
        std::sort(refolds_.begin(), refolds_.end());
        refolds_.erase(std::unique(refolds_.begin(), refolds_.end()), refolds_.end());
        std::sort(folds_.begin(), folds_.end(), [](const Fold& left, const Fold& right) {
            return std::pair(left.key, left.slot) < std::pair(right.key, right.slot);
        });
        std::size_t at = 0;
        for (const std::uint32_t key : refolds_) {
            const std::size_t first = at;
            while (at < folds_.size() && folds_[at].key == key) ++at;
            refold(key, std::span(folds_).subspan(first, at - first));
        }
        std::vector<Fold>().swap(folds_);
    }

    void refold(std::uint32_t key, std::span<const Fold> fresh) {
        Folder folder(text(key), operands_);
        SlotList kept;
        const bool strings = text(key);
        slots_.clear();
        engine_.lists_[key].folds.each([&](std::uint32_t slot) {
            if (engine_.live_[slot]) slots_.push_back(slot);
        });
        each_record(old_.pages, slots_, [&](std::uint32_t slot, RecordBytes bytes) {
            const RecordView record = read_record(bytes);
            const Term coded = first_term(record);
            folder.add({key, coded.test, value_of(coded.value, strings)}, record.interface);
            kept.append(slot);
        });
        for (const Fold& each : fresh) {
            folder.add(each.term, each.interface);
            kept.append(each.slot);
        }
        kept.trim();
        const Folded folded = folder.fold();
        next_->blocks.set(key, rebuilder_.rebuild(old_.blocks.get(key), text(key), &folded, {}));
        engine_.lists_bytes_ += kept.bytes() - engine_.lists_[key].folds.bytes();
        engine_.lists_[key].folds = std::move(kept);
    }

    // --- What was hidden -----------------------------------------------------------------------------------
    void recheck() {
        unique(rechecks_);
        std::vector<std::uint32_t> interfaces;
        for (std::size_t at = 0; at < rechecks_.size();) {
            const std::uint32_t key = rechecks_[at].key;
            interfaces.clear();
            for (; at < rechecks_.size() && rechecks_[at].key == key; ++at) {
                interfaces.push_back(rechecks_[at].interface);
            }
            recheck(key, interfaces);
        }
        unique(sweeps_);
        for (const KeyInterface& each : sweeps_) {
            if (each.interface < engine_.lists_[each.key].hidden.size()) look_through(each.key, each.interface, {});
        }
        // Only now: until all lists are looked through, a filter must not enter the next one under its old record.
        std::sort(bared_.begin(), bared_.end());
        each_record(old_.pages, bared_, [&](std::uint32_t slot, RecordBytes bytes) { refile(slot, read_record(bytes)); });
    }

    static void unique(std::vector<KeyInterface>& each) {
        std::sort(each.begin(), each.end());
        each.erase(std::unique(each.begin(), each.end()), each.end());
    }

    void recheck(std::uint32_t key, std::span<const std::uint32_t> interfaces) {
        part_hidden(key);
        const std::size_t parts = engine_.lists_[key].hidden.size();
        std::vector<std::vector<std::uint32_t>> by_part(parts);
        if (parts == 0) return;
        for (const std::uint32_t interface : interfaces) by_part[interface % parts].push_back(interface);
        for (std::uint32_t part = 0; part < parts; ++part) {
            if (!by_part[part].empty()) look_through(key, part, by_part[part]);
        }
    }

    void part_hidden(std::uint32_t key) {
        KeyLists& lists = engine_.lists_[key];
        if (lists.hidden.size() != 1 || lists.hidden[0].count() < KeyLists::MANY) return;
        const std::size_t before = lists.bytes();
        std::vector<SlotList> parts(KeyLists::PARTS);
        slots_.clear();
        lists.hidden[0].each([&](std::uint32_t slot) { slots_.push_back(slot); });
        each_record(old_.pages, slots_, [&](std::uint32_t slot, RecordBytes bytes) {
            const RecordView record = read_record(bytes);
            if (hidden_under(record, key)) parts[record.interface % KeyLists::PARTS].append(slot);
        });
        for (SlotList& each : parts) each.trim();
        lists.hidden = std::move(parts);
        engine_.lists_bytes_ += lists.bytes() - before;
    }

    static bool hidden_under(const RecordView& record, std::uint32_t key) noexcept {
        return record.filing == Filing::Hidden && first_term(record).key == key;
    }

    // Keeps what is rightly there; what the interfaces given no longer hide is to be filed anew.
    void look_through(std::uint32_t key, std::uint32_t part, std::span<const std::uint32_t> interfaces) {
        slots_.clear();
        engine_.lists_[key].hidden[part].each([&](std::uint32_t slot) {
            if (engine_.live_[slot]) slots_.push_back(slot);
        });
        if (!std::is_sorted(slots_.begin(), slots_.end())) std::sort(slots_.begin(), slots_.end());
        slots_.erase(std::unique(slots_.begin(), slots_.end()), slots_.end());
        engine_.lists_bytes_ -= engine_.lists_[key].hidden[part].bytes();
        engine_.lists_[key].hidden[part] = {};
        each_record(old_.pages, slots_, [&](std::uint32_t slot, RecordBytes bytes) {
            const RecordView record = read_record(bytes);
            if (!hidden_under(record, key)) return;
            const bool asked = std::find(interfaces.begin(), interfaces.end(), record.interface) != interfaces.end();
            if (!asked || still_hidden(record, key)) {
                hide(key, record.interface, slot);
            } else {
                bared_.push_back(slot);
            }
        });
    }

    [[nodiscard]] bool still_hidden(const RecordView& record, std::uint32_t key) {
        const Term coded = first_term(record);
        const Term term{key, coded.test, value_of(coded.value, text(key))};
        return hider_.hides(next_->blocks.get(key), term, text(key), record.interface);
    }

    void refile(std::uint32_t slot, const RecordView& record) {
        read_terms(record);
        const Filing filing = arrange(slot, record.interface);
        record_.clear();
        put_record_head(record_, filing, record.interface, record.generation);
        for (const Term& term : terms_) put_term(record_, term, text(term.key));
        replace(slot);
    }

    // --- Filters of several constraints ----------------------------------------------------------------------
    void file_added() {
        for (const Placed& placed : engine_.added_) {
            if (!engine_.live_[placed.slot]) continue;
            const RecordView record = read_record({placed.bytes, placed.size});
            read_terms(record);
            if (terms_.size() < 2) continue;
            const Filing filing = arrange(placed.slot, record.interface);
            record_.clear();
            put_record_head(record_, filing, record.interface, record.generation);
            for (const Term& term : terms_) put_term(record_, term, text(term.key));
            std::memcpy(placed.bytes, record_.data(), placed.size);  // the same terms: the same size
        }
    }

    // Decides where the filter of terms_ goes, files it, and orders the terms to match.
    Filing arrange(std::uint32_t slot, std::uint32_t interface) {
        const auto never = [](const Term& term) { return term.test == Test::Never; };
        if (std::any_of(terms_.begin(), terms_.end(), never)) return Filing::Never;
        for (Term& term : terms_) {
            if (!hider_.hides(next_->blocks.get(term.key), term, text(term.key), interface)) continue;
            std::swap(terms_[0], term);
            hide(terms_[0].key, interface, slot);
            return Filing::Hidden;
        }
        order_terms(terms_, engine_.keys_, operands_);
        change(terms_[0], Item::Entry, make_entry(slot, terms_[1].key, interface), false);
        return Filing::Posted;
    }

    void hide(std::uint32_t key, std::uint32_t interface, std::uint32_t slot) {
        KeyLists& lists = engine_.lists_[key];
        if (lists.hidden.empty()) {
            lists.hidden.resize(1);
            engine_.lists_bytes_ += heap_bytes(lists.hidden);
        }
        SlotList& list = lists.hidden_of(interface);
        const std::size_t before = list.bytes();
        list.append(slot);
        engine_.lists_bytes_ += list.bytes() - before;
    }

    // --- Blobs ---------------------------------------------------------------------------------------------
    void rebuild_blocks() {
        std::sort(changes_.begin(), changes_.end(),
                  [](const Change& left, const Change& right) { return left.key < right.key; });
        for (std::size_t at = 0; at < changes_.size();) {
            const std::size_t first = at;
            const std::uint32_t key = changes_[at].key;
            while (at < changes_.size() && changes_[at].key == key) ++at;
            const std::span<Change> own = std::span(changes_).subspan(first, at - first);
            next_->blocks.set(key, rebuilder_.rebuild(next_->blocks.get(key), text(key), nullptr, own));
        }
        std::vector<Change>().swap(changes_);
    }

    void finish() {
        const std::size_t vacant = engine_.free_.size() + vacated_.size();
        if (vacant > engine_.free_.capacity()) engine_.free_.reserve(vacant + vacant / 2);
        if (engine_.added_.size() > engine_.lists_.size()) {
            for (KeyLists& each : engine_.lists_) trim(each);
        }
        engine_.filters_ += static_cast<std::size_t>(filters_);
        engine_.constraints_ += static_cast<std::size_t>(constraints_);
        std::shared_ptr<const FastIndex> done = engine_.publish(next_);
        // From here on nothing can fail.
        for (const std::uint32_t slot : engine_.removed_) engine_.release(engine_.committed(slot));
        for (const Placed& placed : engine_.added_) {
            if (!engine_.live_[placed.slot]) engine_.release(read_record({placed.bytes, placed.size}));
        }
        engine_.free_.insert(engine_.free_.end(), vacated_.rbegin(), vacated_.rend());
        engine_.current_ = std::move(done);
        std::vector<Placed>().swap(engine_.added_);
        std::vector<std::uint32_t>().swap(engine_.removed_);
        engine_.staging_ = {};
    }

    void trim(KeyLists& lists) {
        for (SlotList& each : lists.hidden) {
            const std::size_t before = each.bytes();
            each.trim();
            engine_.lists_bytes_ += each.bytes() - before;
        }
    }

    FastEngine& engine_;
    const FastIndex& old_;
    std::shared_ptr<FastIndex> next_;
    DictionaryView operands_;
    PatternsView patterns_;
    Hider hider_;
    Rebuilder rebuilder_;
    Staging arena_;

    std::vector<Placed> others_;            // records besides those added
    std::vector<std::uint32_t> vacated_;
    std::vector<std::uint32_t> refolds_;    // keys whose masks change
    std::vector<Fold> folds_;               // new single constraints to be folded
    std::vector<KeyInterface> rechecks_;    // who may hide less than before
    std::vector<KeyInterface> sweeps_;      // lists of (key, part) with too much in them
    std::vector<std::uint32_t> bared_;      // slots of filters nothing hides where they were hidden
    std::vector<Change> changes_;
    std::vector<Term> terms_;
    std::vector<std::uint32_t> slots_;
    std::vector<std::uint8_t> record_;
    std::ptrdiff_t filters_ = 0, constraints_ = 0;
};

}  // namespace cbn::fast
