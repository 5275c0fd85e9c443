// The `fast` engine over random tables and messages, compared with a search through all filters.
//
//   fast_check SEED ROUNDS
//
// Each round is a table of its own: filters come and go, commits fall between, messages are matched with and
// without masks. Some messages are damaged: then the verdict must be that of the wire format. At times memory
// runs out in the middle of a change: then nothing may have changed. Prints
// `disagreements matches refused failures cases`; with sanitizers, reading a byte too far ends it.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <set>

#include "fast_cases.hpp"
#include "match/engine.hpp"
#include "plain_search.hpp"

namespace {

// Allocations to go until one fails; negative: none does.
long allocations_left = -1;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
    if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
    if (void* made = std::malloc(size > 0 ? size : 1)) return made;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocations_left >= 0 && allocations_left-- == 0 ? nullptr : std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* made) noexcept { std::free(made); }
[[gnu::noinline]] void operator delete(void* made, std::size_t) noexcept { std::free(made); }

using namespace cbn;
using test::below;
using test::view;

namespace {

struct Figures {
    std::size_t disagreements = 0, matches = 0, refused = 0, failures = 0, cases = 0;
};

using Filed = std::map<std::uint64_t, std::pair<std::uint32_t, std::string>>;

class Round {
  public:
    Round(std::uint64_t seed, Figures& figures) : world_(seed), random_(world_.random), figures_(figures) {}

    void run() {
        for (std::size_t steps = 1 + below(random_, 12); steps > 0; --steps) {
            change();
            if (below(random_, 5) != 0) commit();
            for (int messages = 0; messages < 20; ++messages) match();
        }
        for (const auto& [id, entry] : filed_) check(engine_.remove(id));
        filed_.clear();
        commit();
        match();
    }

  private:
    void check(bool good) { figures_.disagreements += good ? 0 : 1; }

    // Calls `act` until it succeeds; at times memory runs out somewhere on the way, a little later each time.
    template <class Act>
    void despite_failures(Act&& act) {
        const bool short_of_memory = below(random_, 20) == 0;
        for (long grace = static_cast<long>(below(random_, 3));; grace += 1 + grace / 4) {
            try {
                allocations_left = short_of_memory ? grace : -1;
                act();
                allocations_left = -1;
                return;
            } catch (const std::bad_alloc&) {
                allocations_left = -1;
                ++figures_.failures;
                if (index_ && below(random_, 8) == 0) match();
            }
        }
    }

    void change() {
        for (std::size_t left = below(random_, world_.filters()); left > 0; --left) {
            const std::uint32_t interface = world_.interface();
            const std::string filter = world_.filter();
            std::uint64_t id = 0;
            despite_failures([&] { id = engine_.add(interface, view(filter)); });
            check(filed_.emplace(id, std::pair(interface, filter)).second && !gone_.contains(id));
            ids_.push_back(id);
        }
        for (std::size_t left = below(random_, world_.filters() / 2); left > 0 && !ids_.empty(); --left) {
            const std::uint64_t id = ids_[below(random_, ids_.size())];
            const bool there = filed_.erase(id) != 0;
            bool removed = false;
            despite_failures([&] { removed = engine_.remove(id); });
            check(removed == there);
            gone_.insert(id);
        }
    }

    void commit() {
        despite_failures([&] {
            if (IndexPointer made = engine_.commit()) index_ = std::move(made);
        });
        published_ = filed_;
        if (!index_) return;
        std::set<std::uint32_t> interfaces;
        for (const auto& [id, entry] : published_) interfaces.insert(entry.first);
        check(index_->stats().filters == published_.size() && index_->stats().interfaces == interfaces.size());
    }

    void match() {
        if (!index_) return;
        std::string packet = world_.message();
        if (below(random_, 8) == 0) damage(packet);
        const auto exact = std::make_unique<std::uint8_t[]>(packet.size());
        std::copy(packet.begin(), packet.end(), exact.get());
        const wire::Bytes bytes{exact.get(), packet.size()};
        wire::MessageView message;
        if (!wire::parse_message(bytes, message).ok()) return;
        Bits allowed;
        const bool limited = below(random_, 3) == 0;
        for (std::uint32_t each = 0; limited && each < world_.extent(); each += 1 + below(random_, 9)) {
            allowed.set(each);
        }
        const std::uint32_t except = below(random_, 3) == 0 ? world_.interface() : NOWHERE;
        const wire::Status found = index_->match(message, limited ? &allowed : nullptr, except, scratch_);
        const wire::Status wanted = wire::validate_message(bytes);
        check(found.fault == wanted.fault && found.offset == wanted.offset);
        ++figures_.cases;
        if (wanted.ok()) return compare(message, limited ? &allowed : nullptr, except);
        ++figures_.refused;
        check(scratch_.matched.empty());
    }

    void compare(const wire::MessageView& message, const Bits* allowed, std::uint32_t except) {
        std::set<std::uint32_t> wanted;
        for (const auto& [id, entry] : published_) {
            const auto& [interface, filter] = entry;
            if (interface == except || (allowed != nullptr && !allowed->test(interface))) continue;
            if (test::matches(view(filter), message)) wanted.insert(interface);
        }
        std::sort(scratch_.matched.begin(), scratch_.matched.end());
        check(std::equal(wanted.begin(), wanted.end(), scratch_.matched.begin(), scratch_.matched.end()));
        figures_.matches += wanted.size();
    }

    void damage(std::string& packet) {
        for (std::size_t left = 1 + below(random_, 3); left > 0; --left) {
            if (packet.size() <= 36) return;
            static constexpr std::uint8_t odd[] = {0, 1, 2, 4, 0x7F, 0x80, 0xFE, 0xFF};
            packet[36 + below(random_, packet.size() - 36)] =
                static_cast<char>(below(random_, 2) != 0 ? odd[below(random_, 8)] : random_());
        }
        if (below(random_, 4) == 0) packet.resize(36 + below(random_, packet.size() - 36));
        static_cast<void>(wire::seal(packet));
    }

    test::World world_;
    test::Random& random_;
    Figures& figures_;
    fast::FastEngine engine_;
    IndexPointer index_;
    Filed filed_, published_;
    std::vector<std::uint64_t> ids_;
    std::set<std::uint64_t> gone_;
    Scratch scratch_;
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    const std::uint64_t seed = test::number(arguments[1]), rounds = test::number(arguments[2]);
    Figures figures;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        Round(seed * 1'000'003 + round, figures).run();
        if (figures.disagreements > 0) std::fprintf(stderr, "seed %lu, round %lu\n", seed, round);
        if (figures.disagreements > 0) break;
    }
    std::printf("%zu disagreements: %zu interfaces matched, %zu damaged messages refused, %zu failures of memory, "
                "%zu cases\n",
                figures.disagreements, figures.matches, figures.refused, figures.failures, figures.cases);
    return figures.disagreements == 0 ? 0 : 1;
}
