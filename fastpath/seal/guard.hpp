// Seals of datagrams with messages: made for what goes over a link, looked at in what comes (decision 36).
//
// Which keys there are at a time, the control plane decides and tells from its own thread; it is the same as
// `MessageGuard` in nodes/routing/message_guard.py, which is compared with it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fib/drop.hpp"
#include "seal/mac.hpp"
#include "seal/window.hpp"
#include "wire/wire.hpp"

namespace cbn::seal {

inline constexpr std::uint8_t ALGORITHM = 2;

enum class Mode : std::uint8_t { Off, Permissive, Required };

// A key, under the number of the link's key and the name of the session that it was made of.
struct KeyOf {
    std::uint16_t key_id = 0;
    std::uint64_t session = 0;
    Key key{};

    bool operator==(const KeyOf&) const = default;
};

// What becomes of the messages of a datagram.
struct Verdict {
    Drop reason = Drop::None;   // why they are counted
    bool refused = false;       // and dropped
    std::size_t messages = 0;
};

// One end of one link.
class Guard {
  public:
    explicit Guard(Mode mode) noexcept : mode_(mode) {}

    // Take these keys from now on: the first for what goes, the others for what comes.
    void use(const std::optional<KeyOf>& sending, const std::vector<KeyOf>& receiving) {
        std::vector<Receiving> keys;
        std::vector<Session> sessions;
        const std::lock_guard<std::mutex> hold(lock_);
        for (const KeyOf& each : receiving) {
            keys.push_back(kept(each));
            if (find(sessions, each.session) == nullptr) {
                const Session* const known = find(sessions_, each.session);
                sessions.push_back(known ? *known : Session{each.session, std::make_shared<Window>()});
            }
        }
        if (sending && !(sending_ && sending_->of == *sending)) sending_.emplace(Sending{*sending, Mac(sending->key)});
        keys_ = std::move(keys);
        sessions_ = std::move(sessions);
        seals_ = mode_ != Mode::Off && sending_.has_value();
    }

    // Whether what is sent has to have room for a seal.
    [[nodiscard]] bool seals() const noexcept { return seals_.load(std::memory_order_acquire); }

    // Writes the seal into the room at the datagram's end, which `seals` has asked for.
    void seal(std::span<std::uint8_t> datagram) {
        const std::lock_guard<std::mutex> hold(lock_);
        std::uint8_t* const at = datagram.data() + datagram.size() - wire::SEAL_SIZE;
        at[0] = wire::VERSION;
        at[1] = static_cast<std::uint8_t>(wire::PacketType::Seal);
        wire::store(at + wire::LENGTH_AT, static_cast<std::uint16_t>(wire::SEAL_SIZE));
        at[4] = 0;
        at[5] = ALGORITHM;
        wire::store(at + 6, sending_->of.key_id);
        wire::store(at + 8, sending_->of.session);
        wire::store(at + 16, ++counter_);
        const Proof proof = sending_->mac.of(datagram.first(datagram.size() - wire::SEAL_MAC_SIZE));
        std::copy(proof.begin(), proof.end(), datagram.end() - wire::SEAL_MAC_SIZE);
    }

    // Looks at the seal of a datagram that came; what has no message needs none, and framing is not judged here.
    [[nodiscard]] Verdict check(wire::Bytes datagram) {
        if (mode_ == Mode::Off || !wire::check_framing(datagram).ok()) return {};
        Verdict verdict;
        wire::FrameCursor frames(datagram);
        wire::Frame last;
        for (wire::Frame frame; frames.next(frame); last = frame) verdict.messages += frame.type == wire::PacketType::Message;
        if (verdict.messages == 0) return {};
        verdict.reason = judge(datagram, datagram.subspan(last.offset));
        verdict.refused =
            verdict.reason != Drop::None && !(verdict.reason == Drop::NoSeal && mode_ == Mode::Permissive);
        return verdict;
    }

  private:
    struct Session {
        std::uint64_t name = 0;
        std::shared_ptr<Window> window;
    };
    struct Receiving {
        KeyOf of;
        std::shared_ptr<Mac> mac;
    };
    struct Sending {
        KeyOf of;
        Mac mac;
    };

    [[nodiscard]] static const Session* find(const std::vector<Session>& sessions, std::uint64_t name) noexcept {
        const auto found = std::find_if(sessions.begin(), sessions.end(), [&](const Session& s) { return s.name == name; });
        return found == sessions.end() ? nullptr : &*found;
    }

    [[nodiscard]] Receiving kept(const KeyOf& key) const {
        const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const Receiving& r) { return r.of == key; });
        return found == keys_.end() ? Receiving{key, std::make_shared<Mac>(key.key)} : *found;
    }

    [[nodiscard]] Drop judge(wire::Bytes datagram, wire::Bytes last) {
        wire::SealView seal;
        if (!wire::parse_seal(last, seal).ok() || seal.algorithm != ALGORITHM) return Drop::NoSeal;
        const std::lock_guard<std::mutex> hold(lock_);
        const Session* const session = find(sessions_, seal.session);
        if (session == nullptr) return Drop::OtherSession;
        const auto key = std::find_if(keys_.begin(), keys_.end(), [&](const Receiving& each) {
            return each.of.key_id == seal.key_id && each.of.session == seal.session;
        });
        if (key == keys_.end()) return Drop::UnknownKey;
        if (!key->mac->proves(datagram.first(datagram.size() - wire::SEAL_MAC_SIZE), seal.mac)) return Drop::WrongSeal;
        if (session->window->has(seal.counter)) return Drop::RepeatedSeal;
        session->window->add(seal.counter);
        return Drop::None;
    }

    const Mode mode_;
    std::atomic<bool> seals_{false};
    std::mutex lock_;  // over all that follows
    std::vector<Receiving> keys_;
    std::vector<Session> sessions_;
    std::optional<Sending> sending_;
    std::uint64_t counter_ = 0;  // goes on whatever the key
};

// All links of a node.
class Guards {
  public:
    Guards(std::size_t interfaces, Mode mode) {
        for (std::size_t each = 0; each < interfaces; ++each) guards_.push_back(std::make_unique<Guard>(mode));
    }

    [[nodiscard]] std::size_t size() const noexcept { return guards_.size(); }
    [[nodiscard]] Guard& at(std::size_t interface) const noexcept { return *guards_[interface]; }

    // By how much a datagram becomes longer that goes out at an interface, which need not be one of a link.
    [[nodiscard]] std::size_t room(std::size_t interface) const noexcept {
        return interface < guards_.size() && guards_[interface]->seals() ? wire::SEAL_SIZE : 0;
    }

  private:
    std::vector<std::unique_ptr<Guard>> guards_;
};

using GuardsPointer = std::shared_ptr<Guards>;

}  // namespace cbn::seal
