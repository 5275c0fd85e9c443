// Two threads match while a third adds, removes and commits, for ThreadSanitizer to watch.
//
//   fast_tsan SEED COMMITS
//
// Before an index is published, what it must answer to a few messages is found by a plain search: whatever a
// reader gets must be the answer of the very index he asked, whole. Prints `wrong matches commits`.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "fast_cases.hpp"
#include "match/engine.hpp"
#include "plain_search.hpp"
#include "fib/snapshot.hpp"

using namespace cbn;
using test::below;
using test::view;

namespace {

struct Shared {
    std::vector<std::string> messages;
    Published<Index> current;
    std::mutex lock;
    std::map<const Index*, std::vector<std::set<std::uint32_t>>> answers;
    std::vector<IndexPointer> kept;  // so that no address means two indexes
    std::atomic<bool> done{false};
    std::atomic<std::size_t> wrong{0}, matches{0};
};

void keep_matching(Shared& shared) {
    Scratch scratch;
    for (std::size_t turn = 0; !shared.done; ++turn) {
        const IndexPointer index = shared.current.get();
        const std::size_t which = turn % shared.messages.size();
        wire::MessageView message;
        static_cast<void>(wire::parse_message(view(shared.messages[which]), message));
        static_cast<void>(index->match(message, nullptr, NOWHERE, scratch));
        const std::set<std::uint32_t> found(scratch.matched.begin(), scratch.matched.end());
        const std::lock_guard<std::mutex> hold(shared.lock);
        if (shared.answers.at(index.get())[which] != found) ++shared.wrong;
        ++shared.matches;
    }
}

class Writer {
  public:
    Writer(std::uint64_t seed, Shared& shared) : world_(seed), shared_(shared) {
        for (int at = 0; at < 6; ++at) shared.messages.push_back(world_.message());
        publish();
    }

    void change() {
        for (std::size_t left = 1 + below(world_.random, 12); left > 0; --left) {
            const std::uint32_t interface = world_.interface();
            const std::string filter = world_.filter();
            filed_[engine_.add(interface, view(filter))] = {interface, filter};
        }
        while (filed_.size() > 150 || (below(world_.random, 3) != 0 && !filed_.empty())) {
            const std::size_t pick = below(world_.random, filed_.size());
            const auto victim = std::next(filed_.begin(), static_cast<std::ptrdiff_t>(pick));
            engine_.remove(victim->first);
            filed_.erase(victim);
        }
        publish();
    }

  private:
    void publish() {
        const IndexPointer made = engine_.commit();
        if (!made) return;
        std::vector<std::set<std::uint32_t>> answers(shared_.messages.size());
        for (std::size_t at = 0; at < answers.size(); ++at) {
            wire::MessageView message;
            static_cast<void>(wire::parse_message(view(shared_.messages[at]), message));
            for (const auto& [id, entry] : filed_) {
                if (test::matches(view(entry.second), message)) answers[at].insert(entry.first);
            }
        }
        {
            const std::lock_guard<std::mutex> hold(shared_.lock);
            shared_.answers[made.get()] = std::move(answers);
            shared_.kept.push_back(made);
        }
        shared_.current.set(made);
    }

    test::World world_;
    Shared& shared_;
    fast::FastEngine engine_;
    std::map<std::uint64_t, std::pair<std::uint32_t, std::string>> filed_;
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    const std::uint64_t seed = test::number(arguments[1]), commits = test::number(arguments[2]);
    std::size_t wrong = 0, matches = 0;
    for (std::uint64_t table = 0; table < commits / 50; ++table) {
        Shared shared;
        Writer writer(seed * 1'000'003 + table, shared);
        std::thread first(keep_matching, std::ref(shared)), second(keep_matching, std::ref(shared));
        for (int commit = 0; commit < 50; ++commit) writer.change();
        while (shared.matches < 100) std::this_thread::yield();
        shared.done = true;
        first.join();
        second.join();
        wrong += shared.wrong;
        matches += shared.matches;
    }
    std::printf("%zu %zu %lu\n", wrong, matches, commits / 50 * 50);
    return wrong == 0 ? 0 : 1;
}
