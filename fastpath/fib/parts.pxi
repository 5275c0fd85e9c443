# The parts of a FIB from Python's values, checked: for fib.pyx, which includes this.

cdef uint32_t table_number(const FibData *data, object number, str where) except? 0xFFFFFFFF:
    cdef uint32_t table = u32(number, f"table {where}")
    if table >= data.tables.size():
        raise UsageError(f"table {where} is {table}; there are {data.tables.size()} tables")
    return table


cdef int check_routed(const FibData *data, const ClassRule &rule, str where) except -1:
    cdef uint32_t interface
    if not data.route.node:
        raise UsageError(f"routed {where} is true, and the FIB has no route")
    for interface in range(data.clients.size()):
        if rule.out.test(interface) and not data.is_client(interface):
            raise UsageError(f"out {where} names interface {interface}; routed, it must name clients alone")
    return 0


cdef int add_class(FibData *data, object entry) except -1:
    cdef uint32_t header_class = u32(entry.header_class, "header_class")
    cdef str where = f"of header class {header_class}"
    cdef ClassRule rule
    if data.classes.find(header_class) != NULL:
        raise UsageError(f"header class {header_class} has two entries")
    rule.accept = mask(entry.accept, f"accept {where}")
    rule.out = mask(entry.out, f"out {where}")
    if max(rule.accept.extent(), rule.out.extent()) > data.clients.size():
        raise UsageError(f"a mask {where} names interfaces beyond the {data.clients.size()} there are")
    rule.table = table_number(data, entry.table, where)
    rule.rewrite = u32(entry.rewrite, f"rewrite {where}")
    rule.routed = bool(entry.routed)
    if rule.routed:
        check_routed(data, rule, where)
    data.classes[header_class] = rule
    return 0


cdef int add_destination(FibData *data, object router, object interface) except -1:
    cdef Destination destination
    destination.router = u32(router, "a destination")
    destination.interface = u32(interface, f"the interface towards router {router}")
    if destination.router in (0, data.route.node):
        raise UsageError(f"router {router} cannot be a destination of router {data.route.node}")
    if data.route.destinations.size() and destination.router <= data.route.destinations.back().router:
        last = data.route.destinations.back().router
        raise UsageError(f"destinations must ascend; {router} follows {last}")
    if destination.interface >= data.clients.size() or data.is_client(destination.interface):
        raise UsageError(f"interface {interface}, towards router {router}, leads to no router")
    data.route.destinations.push_back(destination)
    return 0


cdef int add_route(FibData *data, object route) except -1:
    if route is None:
        return 0
    data.route.node = u32(route.node, "node")
    if data.route.node == 0:
        raise UsageError("node is 0; expected the router's id")
    data.route.table = table_number(data, route.table, "of the route")
    data.route.one_each = bool(route.one_each)
    for router, interface in route.destinations:
        add_destination(data, router, interface)
    return 0


cdef int add_gate(FibData *data, object gate) except -1:
    if gate is None:
        return 0
    if (<Gate?>gate).gate.get().size() != data.clients.size():
        raise UsageError(f"a gate of {(<Gate>gate).gate.get().size()} interfaces for {data.clients.size()}")
    data.gate = (<Gate>gate).gate
    return 0


cdef int add_permits(FibData *data, object permits) except -1:
    if permits is None:
        return 0
    size = (<Permits?>permits).permits.get().size()
    if size != data.clients.size():
        raise UsageError(f"permits of {size} interfaces for {data.clients.size()}")
    data.permits = (<Permits>permits).permits
    return 0


cdef int add_interfaces(FibData *data, object clients, object max_datagram_bytes) except -1:
    for client in clients:
        data.clients.push_back(u32(client, "client id"))
    data.note_own_clients()
    if max_datagram_bytes is None:
        data.max_datagram.assign(data.clients.size(), DEFAULT_MAX_DATAGRAM)
        return 0
    for size in max_datagram_bytes:
        data.max_datagram.push_back(u32(size, "max_datagram_bytes", 65535))
    if data.max_datagram.size() != data.clients.size():
        raise UsageError(f"{data.max_datagram.size()} datagram sizes for {data.clients.size()} interfaces")
    return 0
