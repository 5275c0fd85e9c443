// The wire format for reading: include this one. See docs/wire-format.md.
//
//   Status split(Bytes datagram, std::vector<Frame>& frames);   framing, all or nothing
//   Status check_framing(Bytes datagram);                       the same without a vector ...
//   FrameCursor(Bytes checked).next(Frame&) -> bool;            ... and the frames one by one
//
//   Status parse_message(Bytes packet, MessageView&);   header, route, trailer; attributes not looked at
//   Status validate_message(Bytes packet);              all of it, attributes included
//   Status validate_attributes(MessageView);            what parse_message has not looked at
//   Status parse_hello / parse_control / parse_ack / parse_seal / validate_pad / validate_packet
//
//   AttributeCursor(Bytes section, count, base).next(AttributeView&) -> bool;    checks as it goes;
//       false at the end or on a fault, then ask .status(). `base` is added to the offsets of faults.
//   AttributeWalk(Bytes section, count).next(AttributeView&) -> bool;            unchecked: for a section
//       that has been validated before, and for no other.
//
//   Status validate_filter(Bytes filter);               one encoded filter and nothing after it
//   ConstraintCursor(Bytes filter).next(ConstraintView&) -> bool;   checks as it goes, canonical order too
//   Status validate_predicate(Bytes predicate);
//   FilterCursor(Bytes predicate).next(Bytes& filter) -> bool;      each filter checked, canonical order too
//
//   DestinationCursor(Bytes route).next(std::uint32_t& router) -> bool;   checks as it goes
//
//   LinkStateCursor, parse_interest and so on for each kind of payload, validate_payload(kind, payload)
#pragma once

#include "wire/types.hpp"
#include "wire/reader.hpp"
#include "wire/packets.hpp"
#include "wire/predicates.hpp"
#include "wire/payloads.hpp"
#include "wire/route.hpp"
