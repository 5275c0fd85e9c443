// The shape of the trees as somebody else knows it, who is called for it.
#pragma once

#include <stdexcept>

#include "meeting/ways.hpp"

namespace cbn::meeting {

using Groups = std::vector<std::pair<Routers, Routers>>;
// Both return false if they failed; the caller's language knows why.
using AskOnward = bool (*)(void*, std::uint32_t, std::uint32_t, std::vector<int>&);
using AskGroups = bool (*)(void*, Groups&);

class CalledShape final : public Shape {
  public:
    CalledShape(void* whom, AskOnward onward, AskGroups groups) : whom_(whom), onward_(onward), groups_(groups) {}

    std::vector<int> onward(std::uint32_t publisher, std::uint32_t subscriber) override {
        std::vector<int> found;
        if (!onward_(whom_, publisher, subscriber, found)) throw std::runtime_error("the trees do not say where to go on");
        return found;
    }
    Groups groups() override {
        Groups found;
        if (!groups_(whom_, found)) throw std::runtime_error("the trees do not say who is beyond");
        return found;
    }

  private:
    void* whom_;
    AskOnward onward_;
    AskGroups groups_;
};

}  // namespace cbn::meeting
