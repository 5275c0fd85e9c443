// The forwarding table that people add to and remove from: an engine by the name of its algorithm, and the
// index it published last.
//
// A change is kept until `commit`, which publishes a new index whole; who is matching at that moment goes on
// with the index he began with (FWD 4.1: updates are buffered).
#pragma once

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "match/engine.hpp"
#include "match/index.hpp"
#include "paper/engine.hpp"
#include "fib/snapshot.hpp"
#include "wire/wire.hpp"

namespace cbn {

using TablePointer = IndexPointer;

// `rounds` are those of FWD Fig. 7 and mean something to `selective` alone.
inline std::unique_ptr<Engine> make_engine(const std::string& algorithm, std::size_t rounds) {
    if (algorithm == "fast") return std::make_unique<fast::FastEngine>();
    if (algorithm == "selective") return std::make_unique<paper::Engine>(rounds);
    if (algorithm == "counting") return std::make_unique<paper::Engine>(0);
    throw std::invalid_argument("there is no algorithm " + algorithm);
}

class Table {
  public:
    Table() : Table("fast", 0) {}
    Table(const std::string& algorithm, std::size_t rounds) : engine_(make_engine(algorithm, rounds)) {
        current_.set(engine_->commit());
    }

    // The filter must have been validated.
    std::uint64_t add(std::uint32_t interface, wire::Bytes filter) {
        const std::lock_guard<std::mutex> hold(lock_);
        return engine_->add(interface, filter);
    }

    // False if there is none of that id.
    bool remove(std::uint64_t id) {
        const std::lock_guard<std::mutex> hold(lock_);
        return engine_->remove(id);
    }

    // If memory runs out this throws, and what was published stays.
    void commit() {
        const std::lock_guard<std::mutex> hold(lock_);
        if (IndexPointer index = engine_->commit()) current_.set(std::move(index));
    }

    [[nodiscard]] TablePointer current() const { return current_.get(); }

  private:
    std::mutex lock_;
    std::unique_ptr<Engine> engine_;
    Published<Index> current_;
};

}  // namespace cbn
