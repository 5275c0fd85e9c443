// Predicates that come and go, by the million: include this one. See docs/protocols.md, "Link state and interest".
//
//   Pool          every filter once
//   Predicate     a set of filters: read, change, minus, encoded, digest
//   Union         of predicates, counted by filter, reduced while it is small
//   TableEditor   a forwarding table kept at unions, interface by interface
#pragma once

#include "interests/editor.hpp"
