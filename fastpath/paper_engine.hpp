// The writer's side of the paper's algorithms: keeps the filters, and rebuilds the dictionary whole at each
// commit (FWD 4.1, F2).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "paper_building.hpp"

namespace cbn::paper {

class Engine final : public cbn::Engine {
  public:
    // No rounds: the counting algorithm of FWD Fig. 4; else the selective one of Fig. 7.
    explicit Engine(std::size_t rounds) : rounds_(rounds) {}

    std::uint64_t add(std::uint32_t interface, wire::Bytes filter) override {
        filters_.push_back({interface, std::make_unique<const std::string>(wire::as_text(filter))});
        changed_ = true;
        return filters_.size() - 1;
    }

    bool remove(std::uint64_t id) override {
        if (id >= filters_.size() || filters_[id].encoded == nullptr) return false;
        filters_[id].encoded.reset();
        changed_ = true;
        return true;
    }

    IndexPointer commit() override {
        if (!changed_) return nullptr;
        Builder builder;
        for (const Filed& each : filters_) {
            if (each.encoded != nullptr) builder.add(each.interface, *each.encoded);
        }
        IndexPointer index = builder.build(rounds_);
        changed_ = false;
        return index;
    }

  private:
    struct Filed {
        std::uint32_t interface = 0;
        std::unique_ptr<const std::string> encoded;  // null: removed
    };

    std::size_t rounds_;
    std::deque<Filed> filters_;  // by id; ids are not given again
    bool changed_ = false;
};

}  // namespace cbn::paper
