// The forwarding table that people add to and remove from: filters by id, and the published index.
//
// A change is kept until `commit`, which compiles a new index and publishes it whole; who is matching at that
// moment goes on with the index he began with (FWD 4.4: updates are buffered).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "snapshot.hpp"
#include "table_index.hpp"
#include "wire.hpp"

namespace cbn {

using TablePointer = std::shared_ptr<const TableIndex>;

class Table {
  public:
    static constexpr std::uint32_t MAX_INTERFACES = 1U << 24;

    Table() { current_.set(std::make_shared<const TableIndex>()); }

    // The filter must have been validated.
    std::uint64_t add(std::uint32_t interface, wire::Bytes filter) {
        const std::lock_guard<std::mutex> hold(lock_);
        filters_.emplace(next_id_, Entry{interface, std::string(wire::as_text(filter))});
        bytes_ += filter.size();
        changed_ = true;
        return next_id_++;
    }

    // False if there is none of that id.
    bool remove(std::uint64_t id) {
        const std::lock_guard<std::mutex> hold(lock_);
        const auto found = filters_.find(id);
        if (found == filters_.end()) return false;
        bytes_ -= found->second.filter.size();
        filters_.erase(found);
        changed_ = true;
        return true;
    }

    // If memory runs out this throws, and what was published stays.
    void commit() {
        const std::lock_guard<std::mutex> hold(lock_);
        if (!changed_) return;
        auto index = std::make_shared<TableIndex>();
        index->reserve(filters_.size(), bytes_);
        for (const auto& [id, entry] : filters_) index->add(entry.interface, entry.filter);
        index->seal();
        current_.set(std::move(index));
        changed_ = false;
    }

    [[nodiscard]] TablePointer current() const { return current_.get(); }

  private:
    struct Entry {
        std::uint32_t interface = 0;
        std::string filter;
    };

    std::mutex lock_;
    std::map<std::uint64_t, Entry> filters_;
    std::uint64_t next_id_ = 0;
    std::size_t bytes_ = 0;
    bool changed_ = false;
    Published<TableIndex> current_;
};

}  // namespace cbn
