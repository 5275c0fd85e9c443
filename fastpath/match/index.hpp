// What every matching algorithm is to the rest: an engine that takes filters and publishes indexes, and an
// index that any number of threads match against.
//
// Algorithms go by name in fib/table.hpp. What they are made of lives in match/ and paper/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "match/bits.hpp"
#include "wire/wire.hpp"

namespace cbn {

inline constexpr std::uint32_t NOWHERE = 0xFFFFFFFF;  // an interface that there is not
inline constexpr std::uint32_t MAX_INTERFACES = 1U << 24;

struct TableStats {
    std::size_t filters = 0;
    std::size_t constraints = 0;
    std::size_t interfaces = 0;
    std::size_t names = 0;
    std::size_t bytes = 0;
};

// What an algorithm keeps for one thread between messages, so that matching allocates nothing once warm.
class MatchState {
  public:
    MatchState() = default;
    MatchState(const MatchState&) = delete;
    MatchState& operator=(const MatchState&) = delete;
    virtual ~MatchState() = default;
};

// Two threads that write within so many bytes of each other slow each other down (a line, and its neighbour that
// the prefetcher takes along).
inline constexpr std::size_t APART = 128;

// One thread's results and memory. It serves any number of indexes, of any algorithm, in turn.
class alignas(APART) Scratch {
  public:
    std::vector<std::uint32_t> matched;  // interfaces, each once, in any order

    // The state of the algorithm last used with this scratch, made anew if that was another.
    template <class State>
    State& state() {
        auto* known = dynamic_cast_to<State>();
        if (known != nullptr) [[likely]] return *known;
        auto made = std::make_unique<State>();
        State& fresh = *made;
        state_ = std::move(made);
        type_ = &type_of<State>;
        return fresh;
    }

  private:
    template <class State>
    static inline const char type_of = 0;

    template <class State>
    State* dynamic_cast_to() noexcept {
        return type_ == &type_of<State> ? static_cast<State*>(state_.get()) : nullptr;
    }

    std::unique_ptr<MatchState> state_;
    const void* type_ = nullptr;
};

// Immutable for those who match.
class Index {
  public:
    Index() = default;
    Index(const Index&) = delete;
    Index& operator=(const Index&) = delete;
    virtual ~Index() = default;

    // F1: the interfaces in `allowed` (null: all), but for `except`, one of whose filters holds for the
    // message. They are in scratch.matched, unsorted. The message's attributes are validated on the way: with
    // a status that is not ok, nothing matched. Throws bad_alloc alone.
    virtual wire::Status match(const wire::MessageView& message, const Bits* allowed, std::uint32_t except,
                               Scratch& scratch) const = 0;

    [[nodiscard]] virtual TableStats stats() const = 0;
};

using IndexPointer = std::shared_ptr<const Index>;

// The writer's side of an algorithm. Calls are not concurrent with each other (Table sees to that), but with
// matching against any index published before. What throws changes nothing.
class Engine {
  public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    // The filter must have been validated. Ids count from 0 until filters are removed.
    virtual std::uint64_t add(std::uint32_t interface, wire::Bytes filter) = 0;
    // False if there is none of that id, or no longer.
    virtual bool remove(std::uint64_t id) = 0;
    // The index with all changes made, or null if there were none since the last call. The first call gives one,
    // be it of an empty table.
    virtual IndexPointer commit() = 0;
};

}  // namespace cbn
