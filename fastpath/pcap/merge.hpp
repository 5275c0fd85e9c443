// Several captures as one pcapng file, an interface each, in order of time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "pcap/output.hpp"
#include "pcap/records.hpp"
#include "pcap/blocks.hpp"

namespace cbn::pcap {

// A record that is kept while others are read.
struct Kept {
    std::int64_t time_ns = 0;
    std::uint64_t order = 0;
    std::uint32_t original = 0;
    CaptureBytes frame;
};

// The records of one interface, file by file. Stamps of what came on several processors may cross by a little:
// a few hundred records are sorted ahead.
class Track {
  public:
    Track(std::string name, std::vector<std::string> paths) : name_(std::move(name)), paths_(std::move(paths)) {}

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    // Whether there is a next record; `failed` names the file that could not be read, `why` the errno or 0.
    [[nodiscard]] bool ready() {
        while (ahead_.size() < AHEAD && read()) {}
        return !ahead_.empty();
    }

    [[nodiscard]] const Kept& front() const { return ahead_.front(); }
    void pop() {
        std::pop_heap(ahead_.begin(), ahead_.end(), later);
        ahead_.pop_back();
    }

    [[nodiscard]] const std::string& failed() const noexcept { return failed_; }
    [[nodiscard]] int why() const noexcept { return why_; }
    [[nodiscard]] std::uint64_t cut() const noexcept { return cut_; }

  private:
    static constexpr std::size_t AHEAD = 256;

    struct File {
        FileSource source;
        Format format;
        std::unique_ptr<BlockCursor<FileSource>> blocks;
        std::unique_ptr<RecordCursor<FileSource>> records;
    };

    static bool later(const Kept& left, const Kept& right) noexcept {
        return left.time_ns != right.time_ns ? left.time_ns > right.time_ns : left.order > right.order;
    }

    // One more record ahead; false at the end, or where a file cannot be read.
    bool read() {
        Record record;
        while (failed_.empty()) {
            if (!file_ && !open()) return false;
            if (file_->blocks ? file_->blocks->next(record) : file_->records->next(record)) break;
            const Passed& passed = file_->blocks ? file_->blocks->passed() : file_->records->passed();
            cut_ += passed.truncated || passed.damaged ? 1 : 0;
            file_.reset();
        }
        if (!failed_.empty()) return false;
        const wire::Bytes frame = record.frame.captured;
        ahead_.push_back({record.time_ns, order_++, static_cast<std::uint32_t>(record.frame.original),
                          {frame.begin(), frame.end()}});
        std::push_heap(ahead_.begin(), ahead_.end(), later);
        return true;
    }

    bool open() {
        if (next_ == paths_.size()) return false;
        const std::string& path = paths_[next_++];
        file_ = std::make_unique<File>();
        why_ = file_->source.open(path);
        if (why_ == 0) file_->format = read_format(file_->source);
        if (why_ != 0 || file_->format.fault != nullptr) {
            failed_ = path;
            return false;
        }
        const Format& format = file_->format;
        const std::size_t size = file_->source.size();
        if (format.blocks) file_->blocks = std::make_unique<BlockCursor<FileSource>>(file_->source, format, 0, size);
        else file_->records = std::make_unique<RecordCursor<FileSource>>(file_->source, format, 0, size);
        return true;
    }

    std::string name_;
    std::vector<std::string> paths_;
    std::size_t next_ = 0;
    std::unique_ptr<File> file_;
    std::vector<Kept> ahead_;  // a heap, earliest first
    std::uint64_t order_ = 0;
    std::uint64_t cut_ = 0;
    std::string failed_;
    int why_ = 0;
};

struct Merged {
    std::uint64_t packets = 0;
    std::uint64_t cut = 0;    // files whose end is not whole
    int failure = 0;          // of the output, errno
    std::string failed;       // a file that cannot be read
    int why = 0;              // errno, or 0: it is no capture
};

// Writes `output`, whole or not at all.
[[nodiscard]] inline Merged merge(std::vector<Track>& tracks, const std::string& path, std::uint32_t snap_bytes) {
    constexpr std::size_t flush_bytes = 1 << 20;
    using Next = std::pair<std::int64_t, std::size_t>;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
    Merged merged;
    Output output;
    CaptureBytes buffer;
    if ((merged.failure = output.create(path, true)) != 0) return merged;
    put_section(buffer);
    for (const Track& track : tracks) put_interface(buffer, track.name(), snap_bytes);
    const auto enter = [&](std::size_t at) {
        if (tracks[at].ready()) queue.emplace(tracks[at].front().time_ns, at);
    };
    for (std::size_t at = 0; at < tracks.size(); ++at) enter(at);
    for (; !queue.empty() && merged.failure == 0; ++merged.packets) {
        const std::size_t at = queue.top().second;
        queue.pop();
        const Kept& next = tracks[at].front();
        put_packet(buffer, static_cast<std::uint32_t>(at), next.time_ns, next.original, next.frame);
        tracks[at].pop();
        enter(at);
        if (buffer.size() < flush_bytes) continue;
        merged.failure = output.append(buffer.data(), buffer.size());
        buffer.clear();
    }
    if (merged.failure == 0) merged.failure = output.append(buffer.data(), buffer.size());
    for (const Track& track : tracks) {
        merged.cut += track.cut();
        if (!track.failed().empty() && merged.failed.empty()) {
            merged.failed = track.failed();
            merged.why = track.why();
        }
    }
    return merged;
}

}  // namespace cbn::pcap
