// Table, FIB and pcap decoding over random and damaged inputs, for the sanitizers to watch.
//
//   fastpath_asan SEED ROUNDS
//
// Every input lies in an allocation of just its size, so that reading one byte too far is seen. The table's
// answers are compared with a search through all filters. Prints the figures; ends with 1 on a disagreement.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "pcap/records.hpp"
#include "wire/codec.hpp"
#include "fib/calls.hpp"
#include "pcap/pcap.hpp"
#include "plain_search.hpp"

using namespace cbn;

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) { return end == 0 ? 0 : random() % end; }

// The bytes in an allocation of their own.
class Exact {
  public:
    explicit Exact(std::string_view bytes) : size_(bytes.size()), data_(new std::uint8_t[size_ > 0 ? size_ : 1]) {
        if (size_ > 0) std::memcpy(data_.get(), bytes.data(), size_);
    }
    [[nodiscard]] wire::Bytes bytes() const { return {data_.get(), size_}; }

  private:
    std::size_t size_;
    std::unique_ptr<std::uint8_t[]> data_;
};

std::string damaged(Random& random, std::string bytes, std::size_t keep) {
    if (random() % 2) return bytes;
    static constexpr std::uint8_t odd[] = {0, 1, 2, 4, 0x7F, 0x80, 0xFE, 0xFF};
    for (std::size_t left = below(random, 4); left > 0 && bytes.size() > keep; --left) {
        const std::size_t at = keep + below(random, bytes.size() - keep);
        bytes[at] = static_cast<char>(random() % 2 ? odd[below(random, sizeof odd)] : random());
    }
    if (random() % 4 == 0 && bytes.size() > keep) bytes.resize(keep + below(random, bytes.size() - keep));
    if (random() % 8 == 0) bytes.append(below(random, 20), static_cast<char>(random()));
    return bytes;
}

std::string name(Random& random) { return std::string(1 + below(random, 2), "abc"[below(random, 3)]); }

std::string value(Random& random, wire::Type type) {
    std::string out;
    switch (type) {
        case wire::Type::String: wire::put_string_value(out, std::string(below(random, 4), "xy"[random() % 2])); break;
        case wire::Type::Float: wire::put_float_value(out, static_cast<double>(below(random, 5)) - 2); break;
        case wire::Type::Boolean: wire::put_u8(out, random() % 2); break;
        default: wire::put_u64(out, below(random, 5) - 2); break;
    }
    return out;
}

wire::Type any_type(Random& random) { return static_cast<wire::Type>(1 + below(random, 5)); }

std::string constraint(Random& random) {
    while (true) {
        const wire::Type type = any_type(random);
        const auto op = static_cast<wire::Op>(1 + below(random, 10));
        if (!wire::detail::operator_exists(op, type)) continue;
        std::string out;
        wire::put_u8(out, static_cast<std::uint8_t>(type));
        wire::put_u8(out, static_cast<std::uint8_t>(op));
        wire::put_name(out, name(random));
        return op == wire::Op::Any ? out : out + value(random, type);
    }
}

std::string filter(Random& random) {
    std::vector<std::string> members;
    for (std::size_t left = below(random, 4); left > 0; --left) members.push_back(constraint(random));
    wire::make_set(members);
    std::string out;
    wire::put_u16(out, static_cast<std::uint16_t>(members.size()));
    wire::put_all(out, members);
    return out;
}

std::string message(Random& random) {
    std::map<std::string, std::string> attributes;
    for (std::size_t left = below(random, 5); left > 0; --left) {
        const wire::Type type = any_type(random);
        std::string attribute;
        const std::string called = name(random);
        wire::put_u8(attribute, static_cast<std::uint8_t>(type));
        wire::put_name(attribute, called);
        attributes[called] = attribute + value(random, type);
    }
    std::string out;
    wire::begin_packet(out, 1, 0);
    wire::put_u8(out, static_cast<std::uint8_t>(below(random, 3)));
    wire::put_u8(out, static_cast<std::uint8_t>(random() % 2 ? 255 : 0));
    wire::put_u8(out, 0);
    wire::put_u32(out, static_cast<std::uint32_t>(1 + below(random, 2)));
    wire::put_u32(out, static_cast<std::uint32_t>(below(random, 2)));
    wire::put_u64(out, 1);
    wire::put_u64(out, 2);
    wire::put_u16(out, 0);
    wire::put_u16(out, static_cast<std::uint16_t>(attributes.size()));
    for (const auto& [called, attribute] : attributes) out.append(attribute);
    static_cast<void>(wire::seal(out));
    return out;
}

std::string datagram(Random& random) {
    std::string out;
    for (std::size_t left = 1 + below(random, 3); left > 0; --left) {
        out += random() % 4 ? message(random) : std::string("\1\0\0\6\0\0", 6);
    }
    return out;
}

struct Figures {
    std::size_t matches = 0, disagreements = 0, forwarded = 0, packets = 0, records = 0;
};

using Filed = std::map<std::uint64_t, std::pair<std::uint32_t, std::string>>;

void change(Random& random, Table& table, Filed& filed) {
    for (std::size_t left = below(random, 6); left > 0; --left) {
        if (random() % 3 == 0 && !filed.empty()) {
            const auto victim = std::next(filed.begin(), static_cast<std::ptrdiff_t>(below(random, filed.size())));
            static_cast<void>(table.remove(victim->first));
            filed.erase(victim);
            continue;
        }
        const Exact bytes(damaged(random, filter(random), 0));
        if (!wire::validate_filter(bytes.bytes()).ok()) continue;
        const auto interface = static_cast<std::uint32_t>(below(random, 70));
        filed[table.add(interface, bytes.bytes())] = {interface, std::string(wire::as_text(bytes.bytes()))};
    }
    table.commit();
}

void compare(Random& random, const Table& table, const Filed& filed, Figures& figures) {
    const Exact packet(damaged(random, message(random), 36));
    wire::MessageView view;
    if (!wire::validate_message(packet.bytes(), view).ok()) return;
    std::set<std::uint32_t> wanted;
    for (const auto& [id, entry] : filed) {
        const Exact bytes(entry.second);
        if (test::matches(bytes.bytes(), view)) wanted.insert(entry.first);
    }
    static_cast<void>(match_packet(*table.current(), packet.bytes(), nullptr));
    auto& found = thread_scratch().matched;
    std::sort(found.begin(), found.end());
    figures.matches += found.size();
    if (!std::equal(found.begin(), found.end(), wanted.begin(), wanted.end())) ++figures.disagreements;
}

// What the client at interface 0 has advertised, in parts.
GatePointer gate(Random& random) {
    auto made = std::make_shared<Gate>(70);
    for (std::size_t turns = below(random, 4); turns > 0; --turns) {
        std::set<std::string> filters;
        for (std::size_t left = below(random, 4); left > 0; --left) filters.insert(filter(random));
        std::string predicate;
        wire::put_u32(predicate, static_cast<std::uint32_t>(filters.size()));
        for (const std::string& each : filters) predicate += each;
        const Exact bytes(predicate);
        const auto part = static_cast<std::uint32_t>(below(random, 3));
        if (wire::validate_predicate(bytes.bytes()).ok()) made->set(0, part, bytes.bytes());
    }
    return made;
}

void forward(Random& random, const Table& table, Figures& figures) {
    FibData fib;
    fib.origin_class = 1;
    fib.clients.assign(70, 0);
    fib.clients[0] = 1;
    fib.max_datagram.assign(70, static_cast<std::uint32_t>(below(random, 200)));
    fib.tables.push_back(table.current());
    ClassRule rule;
    for (std::uint32_t interface = 0; interface < 70; ++interface) {
        rule.out.set(interface);
        rule.accept.set(interface);
    }
    fib.classes[1] = rule;
    if (random() % 2) fib.gate = gate(random);
    for (int turn = 0; turn < 4; ++turn) {
        const Exact bytes(damaged(random, datagram(random), 0));
        Outcome outcome;
        forward_for_python(random() % 8 ? &fib : nullptr, bytes.bytes(), static_cast<std::uint32_t>(below(random, 72)), outcome);
        figures.forwarded += outcome.outputs.size();
    }
}

void append_record(std::string& file, const std::string& frame) {
    pcap::RecordHeader header{1, 2, static_cast<std::uint32_t>(frame.size()), static_cast<std::uint32_t>(frame.size())};
    file.append(reinterpret_cast<const char*>(&header), sizeof header).append(frame);
}

std::string frame(const std::string& udp, bool version6, std::uint16_t place) {
    std::string out(12, '\2');
    wire::put_u16(out, version6 ? 0x86DD : 0x0800);
    if (version6) {
        wire::put_u32(out, 6U << 28);
        wire::put_u16(out, static_cast<std::uint16_t>(udp.size() + (place ? 8 : 0)));
        wire::put_u8(out, place ? 44 : 17);
        out.append(33, '\1');
        if (place) wire::put_u32(out, 17U << 24 | (place & 0x2000 ? 1U : 0U) | (place & 0x1FFFU) << 3);
        if (place) wire::put_u32(out, 5);
        return out + udp;
    }
    wire::put_u16(out, 0x4500);
    wire::put_u16(out, static_cast<std::uint16_t>(20 + udp.size()));
    wire::put_u16(out, 9);
    wire::put_u16(out, place);
    wire::put_u32(out, 0x40110000);
    return out.append(8, '\3') + udp;
}

std::string any_frame(int part, const std::string& udp, bool version6) {
    if (part == 0) return frame(udp, version6, 0);
    return part == 1 ? frame(udp.substr(0, 8), version6, 0x2000) : frame(udp.substr(8), version6, 1);
}

// One to four datagrams, some of them in two fragments, as frames.
std::vector<std::string> frames(Random& random) {
    std::vector<std::string> out;
    for (std::size_t left = 1 + below(random, 4); left > 0; --left) {
        const std::string payload = datagram(random);
        std::string udp;
        wire::put_u16(udp, wire::PORT);
        wire::put_u16(udp, wire::PORT);
        wire::put_u16(udp, static_cast<std::uint16_t>(8 + payload.size()));
        wire::put_u16(udp, 0);
        udp += payload;
        const bool version6 = random() % 3 == 0;
        if (random() % 2) out.push_back(any_frame(0, udp, version6));
        else for (int part = 1; part < 3; ++part) out.push_back(any_frame(part, udp, version6));
    }
    return out;
}

std::string records(Random& random) {
    pcap::FileHeader header;
    std::string file(reinterpret_cast<const char*>(&header), sizeof header);
    for (const std::string& each : frames(random)) append_record(file, each);
    return file;
}

wire::Bytes bytes_of(const std::string& text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

// One to three sections with one to three interfaces, packets of all kinds, and blocks nobody knows.
std::string blocks(Random& random) {
    CaptureBytes out;
    for (std::size_t sections = 1 + below(random, 3); sections > 0; --sections) {
        put_section(out);
        const std::size_t interfaces = 1 + below(random, 3);
        for (std::size_t left = interfaces; left > 0; --left) put_interface(out, "r1-eth0", 65535);
        for (const std::string& each : frames(random)) {
            const auto on = static_cast<std::uint32_t>(below(random, interfaces));
            const std::size_t start = out.size();
            put_packet(out, on, static_cast<std::int64_t>(random() >> 2), static_cast<std::uint32_t>(each.size()), bytes_of(each));
            if (random() % 8 == 0) out[start] = static_cast<std::uint8_t>(2 + below(random, 9));
        }
        put_statistics(out, 0, 1, 2, 3);
    }
    return {out.begin(), out.end()};
}

template <class Source>
void decode_all(Source& source, const pcap::Format& format, std::size_t start, std::size_t end, const pcap::Ends& ends,
                pcap::Columns& columns) {
    pcap::Reading<Source>(source, format, start, end, ends).fill(columns, std::numeric_limits<std::size_t>::max());
}

// The same bytes out of what can only be read forwards, a few rows at a time, are the same rows and counts.
void decode_forwards(Random& random, wire::Bytes file, const pcap::Columns& whole, Figures& figures) {
    const int descriptor = ::memfd_create("capture", 0);
    if (::write(descriptor, file.data(), file.size()) != static_cast<ssize_t>(file.size())) std::abort();
    ::lseek(descriptor, 0, SEEK_SET);
    pcap::FileSource source;
    source.adopt(descriptor);
    pcap::Format format = pcap::read_format(source);
    format.link_type = format.blocks ? format.link_type : pcap::LINK_ETHERNET;
    pcap::Reading<pcap::FileSource> reading(source, format, 0, std::numeric_limits<std::size_t>::max(), {});
    std::size_t rows = 0, records = 0;
    std::uint64_t skipped = 0;
    for (bool more = true; more;) {
        pcap::Columns part;
        more = reading.fill(part, 1 + below(random, 5));
        rows += part.rows;
        records += part.records;
        for (const std::uint64_t count : part.skipped) skipped += count;
    }
    for (const std::uint64_t count : whole.skipped) skipped -= count;
    if (rows != whole.rows || records != whole.records || skipped != 0) ++figures.disagreements;
}

void decode(Random& random, Figures& figures) {
    const bool sections = random() % 2 == 0;
    const Exact file(damaged(random, sections ? blocks(random) : records(random), sections ? 12 : sizeof(pcap::FileHeader)));
    pcap::MemorySource source(file.bytes());
    pcap::Format format = pcap::read_format(source);
    if (format.fault != nullptr) return;
    const pcap::Format own_format = format;
    constexpr std::uint32_t links[] = {pcap::LINK_ETHERNET, pcap::LINK_ETHERNET, pcap::LINK_RAW, pcap::LINK_SLL2,
                                       pcap::LINK_SLL, pcap::LINK_NULL, pcap::LINK_LOOP, pcap::LINK_IPV6};
    format.link_type = links[below(random, 8)];
    const pcap::Mac own{2, 2, 2, 2, 2, 2}, peer{4, 4, 4, 4, 4, 4};
    pcap::Columns columns;
    decode_all(source, format, 0, source.size(), random() % 2 ? pcap::Ends{&own, random() % 2 ? &peer : nullptr} : pcap::Ends{}, columns);
    figures.packets += columns.rows;
    figures.records += columns.records;
    std::size_t records = 0;
    for (const auto& [start, end] : pcap::index(source, format, 1 + below(random, 300))) {
        pcap::Columns part;
        decode_all(source, format, start, end, {}, part);
        records += part.records;
    }
    if (records != columns.records) ++figures.disagreements;
    pcap::Columns anywhere;
    decode_all(source, format, below(random, source.size()), source.size(), {&own, &peer}, anywhere);
    pcap::Columns whole;
    pcap::Format ethernet = own_format;
    ethernet.link_type = pcap::LINK_ETHERNET;
    decode_all(source, ethernet, 0, source.size(), {}, whole);
    decode_forwards(random, file.bytes(), whole, figures);
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    Random random(std::strtoull(arguments[1], nullptr, 10));
    Figures figures;
    for (std::size_t round = std::strtoull(arguments[2], nullptr, 10); round > 0; --round) {
        Table table;
        Filed filed;
        for (int turn = 0; turn < 3; ++turn) {
            change(random, table, filed);
            for (int each = 0; each < 4; ++each) compare(random, table, filed, figures);
            forward(random, table, figures);
        }
        for (int each = 0; each < 4; ++each) decode(random, figures);
    }
    std::printf("%zu disagreements, %zu matches, %zu datagrams out, %zu packets of %zu records\n",
                figures.disagreements, figures.matches, figures.forwarded, figures.packets, figures.records);
    return figures.disagreements == 0 ? 0 : 1;
}
