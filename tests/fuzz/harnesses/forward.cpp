// Any datagram at a router: what goes out is well-formed, and no larger than interfaces take unless it came so.
//
// The input is the interface it comes from (1 byte), what the router has (1 byte), and the datagram.
#include "../parsers.hpp"
#include "fib/calls.hpp"

using namespace cbn;

namespace {

constexpr std::uint32_t PORTS = 4, LARGEST = 200;

std::string filter(const char* name, std::int64_t value) {
    std::string constraint, out;
    wire::put_u8(constraint, static_cast<std::uint8_t>(wire::Type::Integer));
    wire::put_u8(constraint, static_cast<std::uint8_t>(wire::Op::Ge));
    wire::put_name(constraint, name);
    wire::put_u64(constraint, static_cast<std::uint64_t>(value));
    wire::put_u16(out, 1);
    return out + constraint;
}

wire::Bytes bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Interface 0 leads to a client; all want messages that have `x`, and the last those that have `y`.
const FibData& fib() {
    static Table table;
    static const FibData made = [] {
        for (std::uint32_t interface = 0; interface < PORTS; ++interface) {
            static_cast<void>(table.add(interface, bytes_of(filter(interface + 1 < PORTS ? "x" : "y", interface))));
        }
        table.commit();
        FibData out;
        out.origin_class = 1;
        out.clients.assign(PORTS, 0);
        out.clients[0] = 77;
        out.max_datagram.assign(PORTS, LARGEST);
        out.tables.push_back(table.current());
        ClassRule rule;
        for (std::uint32_t interface = 0; interface < PORTS; ++interface) {
            rule.out.set(interface);
            rule.accept.set(interface);
        }
        out.classes[1] = rule;
        return out;
    }();
    return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::vector<std::uint8_t> datagram(data + 2, data + size);
    Outcome outcome;
    forward_for_python(data[1] % 8 ? &fib() : nullptr, datagram, data[0] % (PORTS + 1), outcome);
    for (const Outcome::Output& output : outcome.outputs) {
        test::require(output.interface < PORTS, "it goes out where there is no interface", datagram);
        test::require(wire::check_framing(output.bytes).ok(), "what goes out is malformed", output.bytes);
        wire::FrameCursor cursor(output.bytes);
        for (wire::Frame frame; cursor.next(frame);) {
            const wire::Bytes packet = wire::Bytes(output.bytes).subspan(frame.offset, frame.length);
            test::require(frame.type == wire::PacketType::Message, "what goes out is no message", packet);
            test::require(wire::validate_message(packet).ok(), "a message that goes out is malformed", packet);
        }
    }
    for (const wire::Bytes control : outcome.control) {
        test::require(!control.empty() && control[1] != 1, "a message is handed to the control plane", datagram);
    }
    return 0;
}
