// Any bytes as a capture file, pcap or pcapng: read whole, in parts and only forwards, it gives the same rows.
#include <limits>

#include <sys/mman.h>
#include <unistd.h>

#include "../parsers.hpp"
#include "pcap/pcap.hpp"

using namespace cbn;

namespace {

template <class Source>
pcap::Columns read(Source& source, const pcap::Format& format, std::size_t start, std::size_t end) {
    pcap::Columns columns;
    pcap::Reading<Source>(source, format, start, end, {}).fill(columns, std::numeric_limits<std::size_t>::max());
    return columns;
}

// The same bytes out of what can only be read forwards, a few rows at a time.
void read_forwards(wire::Bytes file, const pcap::Columns& whole) {
    static const int descriptor = ::memfd_create("capture", 0);
    const int own = ::dup(descriptor);
    if (::ftruncate(own, 0) != 0 || ::pwrite(own, file.data(), file.size(), 0) != static_cast<ssize_t>(file.size())) std::abort();
    ::lseek(own, 0, SEEK_SET);
    pcap::FileSource source;
    source.adopt(own);
    const pcap::Format format = pcap::read_format(source);
    pcap::Reading<pcap::FileSource> reading(source, format, 0, std::numeric_limits<std::size_t>::max(), {});
    std::size_t rows = 0, records = 0;
    for (bool more = true; more;) {
        pcap::Columns part;
        more = reading.fill(part, 3);
        rows += part.rows;
        records += part.records;
    }
    test::require(rows == whole.rows && records == whole.records, "read forwards it has other rows", file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const wire::Bytes file(data, size);
    pcap::MemorySource source(file);
    const pcap::Format format = pcap::read_format(source);
    if (format.fault != nullptr) return 0;
    const pcap::Columns whole = read(source, format, 0, source.size());
    std::size_t records = 0;
    for (const auto& [start, end] : pcap::index(source, format, 100)) records += read(source, format, start, end).records;
    test::require(records == whole.records, "in parts it has other records", file);
    read_forwards(file, whole);
    return 0;
}
