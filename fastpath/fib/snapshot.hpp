// The place where one thread publishes an immutable value and others pick it up.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace cbn {

// A shared_ptr that is swapped whole. The lock is held for the copy of a pointer and never while anything is
// built or freed. (std::atomic<shared_ptr> of libstdc++ 12 spins the same way, and ThreadSanitizer cannot
// follow it.)
template <class T>
class Published {
  public:
    [[nodiscard]] std::shared_ptr<const T> get() const {
        const std::lock_guard<std::mutex> hold(lock_);
        return value_;
    }

    void set(std::shared_ptr<const T> value) {
        const std::lock_guard<std::mutex> hold(lock_);
        value_.swap(value);  // the old one is freed by the caller's frame, after the lock
    }

  private:
    mutable std::mutex lock_;
    std::shared_ptr<const T> value_;
};

}  // namespace cbn
