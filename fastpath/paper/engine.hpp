// The writer's side of the paper's algorithms: keeps the filters, and rebuilds the dictionary whole at each
// commit (FWD 4.1, F2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "paper/building.hpp"

namespace cbn::paper {

// Byte strings that stay where they are put.
class Store {
  public:
    std::string_view put(std::string_view text) {
        if (text.size() > left_) {
            const std::size_t size = std::max(text.size(), CHUNK);
            chunks_.push_back(std::make_unique<char[]>(size));
            bytes_ += size;
            next_ = chunks_.back().get();
            left_ = size;
        }
        if (!text.empty()) std::memcpy(next_, text.data(), text.size());
        used_ += text.size();
        left_ -= text.size();
        return {std::exchange(next_, next_ + text.size()), text.size()};
    }

    [[nodiscard]] std::size_t used() const noexcept { return used_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_ + chunks_.capacity() * sizeof chunks_[0]; }

  private:
    static constexpr std::size_t CHUNK = 1 << 16;
    std::vector<std::unique_ptr<char[]>> chunks_;
    char* next_ = nullptr;
    std::size_t left_ = 0;
    std::size_t used_ = 0;
    std::size_t bytes_ = 0;
};

class Engine final : public cbn::Engine {
  public:
    // No rounds: the counting algorithm of FWD Fig. 4; else the selective one of Fig. 7.
    explicit Engine(std::size_t rounds) : rounds_(rounds) {}

    std::uint64_t add(std::uint32_t interface, wire::Bytes filter) override {
        if (filters_.size() == filters_.capacity()) filters_.reserve(filters_.size() + filters_.size() / 2 + 64);
        filters_.push_back({next_id_, interface, true, store_.put(wire::as_text(filter))});
        changed_ = true;
        return next_id_++;
    }

    bool remove(std::uint64_t id) override {
        const auto found = std::lower_bound(filters_.begin(), filters_.end(), id,
                                            [](const Filed& each, std::uint64_t wanted) { return each.id < wanted; });
        if (found == filters_.end() || found->id != id || !found->live) return false;
        found->live = false;
        removed_bytes_ += found->encoded.size();
        changed_ = true;
        return true;
    }

    IndexPointer commit() override {
        if (!changed_) return nullptr;
        Builder builder;
        for (const Filed& each : filters_) {
            if (each.live) builder.add(each.interface, each.encoded);
        }
        IndexPointer index = builder.build(rounds_, store_.bytes() + filters_.capacity() * sizeof(Filed));
        forget_removed();
        changed_ = false;
        return index;
    }

  private:
    struct Filed {
        std::uint64_t id = 0;
        std::uint32_t interface = 0;
        bool live = false;
        std::string_view encoded{};
    };

    // What is left is moved together once it is less than half.
    void forget_removed() {
        if (removed_bytes_ * 2 > store_.used()) {
            Store fresh;
            std::vector<std::string_view> moved;
            moved.reserve(filters_.size());
            for (const Filed& each : filters_) {
                moved.push_back(each.live ? fresh.put(each.encoded) : std::string_view{});
            }
            for (std::size_t at = 0; at < moved.size(); ++at) filters_[at].encoded = moved[at];
            store_ = std::move(fresh);
            removed_bytes_ = 0;
        }
        std::erase_if(filters_, [](const Filed& each) { return !each.live; });
    }

    std::size_t rounds_;
    Store store_;
    std::vector<Filed> filters_;  // by ascending id
    std::uint64_t next_id_ = 0;
    std::size_t removed_bytes_ = 0;
    bool changed_ = true;  // the first commit publishes, be it an empty table
};

}  // namespace cbn::paper
