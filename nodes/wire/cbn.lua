-- Wireshark and tshark dissector of the CBN wire format, version 1.
--
-- Load it with `tshark -X lua_script:nodes/wire/cbn.lua`, or put it and its parts, cbn_reader.lua and
-- cbn_text.lua, into Wireshark's folder of personal Lua plugins (see docs/wireshark.md). The authority is
-- docs/wire-format.md; tests/wire/test_dissector.py holds this to the vectors in tests/vectors.
--
-- Each packet is first read into nodes (field, range, text, children), then drawn; where reading fails, what
-- has been read so far is drawn together with an expert info that says what is wrong.

local here = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
local function load_part(name) return dofile(here .. name) end
local text = load_part("cbn_text.lua")

local cbn = Proto("cbn", "Content-Based Networking")

local PORT, VERSION = 61803, 1
local PAD, MESSAGE, HELLO, CONTROL, ACK, SEAL = 0, 1, 2, 3, 4, 5
local PACKETS = { [0] = "PAD", "MESSAGE", "HELLO", "CONTROL", "ACK", "SEAL" }
local MINIMUM = { [0] = 4, 36, 32, 32, 32, 40 }
local KNOWN_FLAGS = { [0] = 0, 3, 1, 7, 1, 0 }
local ROLES = { "router", "client" }
local KINDS = { [0] = "none", "LINK_STATE", "INTEREST", "SUBSCRIBE", "UNSUBSCRIBE",
    "INTEREST_CHANGE", "RECORD_REQUEST", "ADVERTISE", "UNADVERTISE", "REFUSED",
    "OFFER", "OFFER_CHANGE", "SUBSCRIBE_PATTERN", "UNSUBSCRIBE_PATTERN", "MATCH",
    [16] = "CBCB_RA", [17] = "CBCB_SR", [18] = "CBCB_UR", [19] = "CBCB_ERA",
    [20] = "SIENA_SUBSCRIBE", [21] = "SIENA_UNSUBSCRIBE",
    [22] = "SIENA_ADVERTISE", [23] = "SIENA_UNADVERTISE",
    [24] = "COST_ANNOUNCE", [25] = "CHANGE_MARKING", [26] = "CHANGE_MARKING_REPLY", [27] = "CD_UPDATE" }
local REFUSALS = {
    "UNADVERTISED", "TOO_MANY_PATTERNS", "OVERSIZE_PATTERN", "MESSAGE_NOT_PERMITTED", "SUBSCRIPTION_NOT_PERMITTED",
    "ADVERTISEMENT_NOT_PERMITTED", "PATTERN_NOT_PERMITTED", "SUBSCRIPTION_OVER_LIMIT", "ADVERTISEMENT_OVER_LIMIT",
    "SUBSCRIPTION_ROOM", "ADVERTISEMENT_ROOM",
}
local ALGORITHMS = { "HMAC-SHA-256", "HMAC-SHA-256-128 and counter" }
local STRING, INTEGER, FLOAT, BOOLEAN, TIME = 1, 2, 3, 4, 5
local TYPES = { "string", "integer", "float", "boolean", "time" }
local OPERATORS = { "=", "!=", "<", ">", "<=", ">=", ">*", "*<", "*", "any" }
local ANY = 10
local SIGNATURE_BYTES, RENEWAL_BYTES = 64, 20

-- Fields by the name they have in docs/wire-format.md; sequences are distinguished by what they count.
local f, fields = {}, {}
local function declare(kind, names, ...)
    for name in names:gmatch("%S+") do
        local label = name:gsub("^%l", string.upper):gsub("_", " ")
        f[name] = ProtoField[kind]("cbn." .. name, label, ...)
        fields[#fields + 1] = f[name]
    end
end

declare("uint8", "version hop_limit hop_count name_length tag_length")
declare("uint8", "type", base.DEC, PACKETS)
declare("uint8", "flags", base.HEX)
declare("uint8", "value_type", base.DEC, TYPES)
declare("uint8", "operator", base.DEC, OPERATORS)
declare("uint8", "role", base.DEC, ROLES)
declare("uint8", "kind", base.DEC, KINDS)
declare("uint8", "algorithm", base.DEC, ALGORITHMS)
declare("uint8", "reason", base.DEC, REFUSALS)
declare("uint16", "length route_length attribute_count value_length payload_length key_id hold_time_ms window")
declare("uint32", "source header_class destination node seen_node link_sequence ack")
declare("uint32", "origin count neighbour cost subscription advertisement pattern issuer revision request router")
declare("uint8", "narrowed periodic announced updated", base.HEX)
declare("uint8", "marking", base.DEC, { [0] = "s-link", "p-link" })
declare("uint32", "cause change place publisher subscriber")
declare("uint64", "publication_rate subscription_rate descriptor pcd scd")
declare("uint64", "counter")
declare("uint64", "message_sequence publish_time_ns origin_sequence renewal")
declare("uint64", "incarnation seen_incarnation peer_incarnation era nonce session", base.HEX)
declare("bytes", "padding route payload tag mac fragment digest signature")
declare("string", "attribute name value predicate removed added filter constraint text")
for name, mask in pairs({ auth = 1, carries = 2, first = 2, last = 4 }) do
    f[name] = ProtoField.bool("cbn.flags." .. name, name:upper(), 8, nil, mask)
    fields[#fields + 1] = f[name]
end
local malformed = ProtoExpert.new("cbn.malformed", "Malformed CBN", expert.group.MALFORMED,
    expert.severity.ERROR)

cbn.fields = fields
cbn.experts = { malformed }

-- Reading ----------------------------------------------------------------------------------------------------

local Reader = load_part("cbn_reader.lua")(f, text)

function Reader:name()
    local name, range = self:text(self:nonzero("name_length", 1), "name")
    self:add(f.name, range, text.name(name))
    return name
end

function Reader:type()
    local kind = self:number("value_type", 1)
    self:require(TYPES[kind], "value_type", self.at - 1, "is unknown")
    return kind
end

local VALUES = {
    [STRING] = function(r) return text.quoted(r:text(r:number("value_length", 2), "value"), '"') end,
    [INTEGER] = function(r) return tostring(r:take(8, "value"):int64()) end,
    [TIME] = function(r) return text.time(r:take(8, "value"):int64()) end,
    [FLOAT] = function(r)
        local x = r:take(8, "value"):float()
        r:require(x == x, "value", r.at - 8, "is NaN")
        r:require(x ~= 0 or 1 / x > 0, "value", r.at - 8, "is -0.0")
        return text.float(x)
    end,
    [BOOLEAN] = function(r)
        local value = r:take(1, "value"):uint()
        r:require(value <= 1, "value", r.at - 1, "is neither 0 nor 1")
        return value == 1 and "true" or "false"
    end,
}

function Reader:value(kind)
    local start = self.at
    local shown = VALUES[kind](self)
    self:add(f.value, self.tvb(start, self.at - start), shown)
    return shown
end

function Reader:attributes(count)
    local last = ""
    for _ = 1, count do
        local start = self.at
        self:open()
        local kind = self:type()
        local name = self:name()
        self:require(text.ascending(last, name), "name", start + 2, "is not above the one before it")
        self:close(f.attribute, start, text.name(name) .. " = " .. self:value(kind))
        last = name
    end
end

-- 1 and 2 are = and !=, 3 to 6 compare, 7 to 9 are for strings.
local function operator_exists(op, kind)
    return op <= 2 or op == ANY or op <= 6 and kind ~= BOOLEAN or op >= 7 and kind == STRING
end

function Reader:constraint()
    local start = self.at
    self:open()
    local kind, op = self:type(), self:number("operator", 1)
    self:require(OPERATORS[op], "operator", start + 1, "is unknown")
    self:require(operator_exists(op, kind), "operator", start + 1, "does not exist for this type")
    local shown = text.name(self:name()) .. " " .. OPERATORS[op] .. " "
    shown = shown .. (op == ANY and TYPES[kind] or self:value(kind))
    self:close(f.constraint, start, shown)
    return shown
end

function Reader:filter()
    local start = self.at
    self:open()
    local shown = self:set(self:number("count", 2), "constraint", Reader.constraint, " and ", "all")
    self:close(f.filter, start, shown)
    return shown
end

function Reader:predicate(field, goes_on)
    local start = self.at
    self:open()
    local shown = self:set(self:number("count", 4), "filter", Reader.filter, " or ", "none")
    if not goes_on then self:finish("predicate") end
    self:close(field or f.predicate, start, shown)
end

-- A record may end with a signature of its origin.
function Reader:signed(what)
    if self.to - self.at == SIGNATURE_BYTES then self:raw("signature", SIGNATURE_BYTES) end
    self:finish(what)
end

function Reader:origin()
    self:nonzero("origin", 4)
    self:number63("origin_sequence")
end

-- What clients hold, by a number of theirs; without a name of the kind a predicate follows.
local function held(number, kind)
    return function(r)
        r:number(number, 4)
        if kind then r:finish(kind) else r:predicate() end
    end
end

-- A record of a router, and how it has changed.
local function record(r)
    r:origin()
    r:predicate(f.predicate, true)
    r:signed("predicate")
end

local function record_change(r)
    r:origin()
    r:add(f.digest, r:take(16, "digest"))
    r:predicate(f.removed, true)
    r:predicate(f.added, true)
    r:signed("predicate")
end

-- What begins CBCB_RA, CBCB_SR and CBCB_UR.
function Reader:cbcb(number, flag)
    self:nonzero("origin", 4)
    self:number("era", 8)
    self:number(number, 4)
    if flag then
        self:require(self:number(flag, 1) <= 1, "flags", self.at - 1, "has reserved bits set")
    end
end

local PAYLOADS = {
    function(r)
        r:origin()
        local last = 0
        for _ = 1, r:number("count", 2) do
            local node = r:nonzero("neighbour", 4)
            r:require(node > last, "neighbour", r.at - 4, "is not above the one before it")
            r:nonzero("cost", 4)
            last = node
        end
        r:signed("LINK_STATE")
    end,
    record,
    held("subscription"),
    held("subscription", "UNSUBSCRIBE"),
    record_change,
    function(r)
        r:nonzero("origin", 4)
        r:finish("RECORD_REQUEST")
    end,
    held("advertisement"),
    held("advertisement", "UNADVERTISE"),
    function(r)
        r:nonzero("reason", 1)
        r:nonzero("count", 4)
        r:number63("message_sequence")
        r:finish("REFUSED")
    end,
    record,
    record_change,
    function(r)
        r:number("pattern", 4)
        r:require(r.at < r.to, "text", r.at, "runs past the end")
        local sought, range = r:text(r.to - r.at, "text")
        r:add(f.text, range, sought)
    end,
    held("pattern", "UNSUBSCRIBE_PATTERN"),
    function(r)
        r:number("pattern", 4)
        r:require(r.at < r.to, "message", r.at, "runs past the end")
        while r.at < r.to do r:component() end
    end,
    [16] = function(r)
        r:cbcb("revision", "narrowed")
        r:predicate(f.predicate, true)
        r:signed("predicate")
    end,
    [17] = function(r)
        r:cbcb("request", "periodic")
        r:signed("CBCB_SR")
    end,
    [18] = function(r)
        r:cbcb("request")
        r:predicate()
    end,
    [19] = function(r)
        local last, signed = 0, r.to - r.at == RENEWAL_BYTES + SIGNATURE_BYTES
        repeat
            local router = r:nonzero("router", 4)
            r:require(router > last, "router", r.at - 4, "is not above the one before it")
            r:number63("renewal")
            r:number("nonce", 8)
            last = router
        until signed or r.at == r.to
        r:signed("CBCB_ERA")
    end,
    [20] = function(r)
        r:number("issuer", 4)
        r:predicate()
    end,
    [21] = function(r)
        r:number("issuer", 4)
        r:predicate()
    end,
    [22] = function(r)
        r:number("issuer", 4)
        r:predicate()
    end,
    [23] = function(r)
        r:number("issuer", 4)
        r:predicate()
    end,
}

PAYLOADS[24] = function(r)
    r:origin()
    r:require(r:number("announced", 1) <= 3, "flags", r.at - 1, "has reserved bits set")
    r:number("publication_rate", 8)
    r:number("subscription_rate", 8)
    local last = 0
    for _ = 1, r:number("count", 2) do
        local cause = r:number("cause", 4)
        r:require(cause > last, "cause", r.at - 4, "is not above the one before it")
        last = cause
    end
    r:signed("COST_ANNOUNCE")
end

local function marking(r)
    r:nonzero("change", 4)
    r:require(r:number("marking", 1) <= 1, "marking", r.at - 1, "is neither 0 nor 1")
    local last_router, last_number, named = 0, UInt64.new(0), {}
    local most = 0
    for _ = 1, r:number("count", 4) do
        local start = r.at
        local router = r:nonzero("router", 4)
        local number = r:number("descriptor", 8)
        local above = router > last_router or router == last_router and number > last_number
        r:require(above, "router", start, "is not above the one before it")
        local place = r:number("place", 4)
        most = math.max(most, place)
        named[place] = true
        last_router, last_number = router, number
    end
    local start = r.at
    local count = r.tvb(start, math.min(4, r.to - start)):len() == 4 and r.tvb(start, 4):uint() or 0
    r:predicate()
    r:require(most <= count, "place", start - 4, "is beyond the last filter")
    for place = 1, count do
        r:require(named[place], "predicate", start, "has a filter that nothing names")
    end
end

PAYLOADS[25] = marking
PAYLOADS[26] = marking

PAYLOADS[27] = function(r)
    local flags = r:number("updated", 1)
    r:require(flags < 3 or flags == 5, "flags", r.at - 1, "has bits set that do not go together")
    local none = UInt64.new(0)
    local publisher = r:number("publisher", 4)
    local pcd = r:number("pcd", 8)
    r:require(publisher ~= 0 or pcd == none, "publisher", r.at - 12, "is 0, and its descriptor is not")
    local subscriber = r:number("subscriber", 4)
    local scd = r:number("scd", 8)
    r:require(subscriber ~= 0 or scd == none, "subscriber", r.at - 12, "is 0, and its descriptor is not")
    r:require(publisher ~= 0 or subscriber ~= 0, "subscriber", r.at - 12, "is 0, as is the publisher")
    local start = r.at
    local allowed = flags % 2 == 1 and 0 or 1
    local count = r.to - start >= 4 and r.tvb(start, 4):uint() or 0
    r:predicate()
    r:require(count <= allowed, "predicate", start, "has more filters than it may")
end

function Reader:flags(known)
    local start = self.at
    self:open()
    local range = self:take(1, "flags")
    local shown = self.is_message and { f.auth, f.carries } or { f.auth, f.first, f.last }
    for _, flag in ipairs(shown) do self:add(flag, range) end
    self:close(f.flags, start)
    self:require(bit.band(range:uint(), bit.bnot(known)) == 0, "flags", start, "has reserved bits set")
    return range:uint()
end

-- Leaves the reader's end in front of the trailer; returns where the packet ends.
function Reader:fence(fixed)
    local to = self.to
    if self.at + fixed + 4 > to then self:fail("trailer", self.at + fixed, "runs past the end") end
    local size = self.tvb(to - 1, 1):uint()
    self:require(size > 0, "tag_length", to - 1, "is 0")
    self:require(self.at + fixed + 4 + size <= to, "tag", to - 1, "runs past the end")
    self.to = to - 4 - size
    return to
end

-- Leaves the reader's end in front of the payload of a message, which ends with its length; returns where
-- that ends.
function Reader:fence_payload()
    local to = self.to
    if self.at + 2 > to then self:fail("payload_length", self.at, "runs past the end") end
    local size = self.tvb(to - 2, 2):uint()
    self:require(size > 0, "payload_length", to - 2, "is 0")
    self:require(self.at + 2 + size <= to, "payload", to - 2, "runs past the end")
    self.to = to - 2 - size
    return to
end

function Reader:carried(to)
    local size = to - 2 - self.at
    self.to = to
    self:raw("payload", size)
    self:number("payload_length", 2)
end

function Reader:trailer(to)
    self.to = to
    self:raw("tag", to - 4 - self.at)
    self:number("key_id", 2)
    self:number("algorithm", 1)
    self:number("tag_length", 1)
end

function Reader:session()
    local kind = self:number("kind", 1)
    self:number("window", 2)
    self:nonzero("incarnation", 8)
    self:nonzero("peer_incarnation", 8)
    return kind, self:number("link_sequence", 4), (self:number("ack", 4))
end

-- A payload that came in one fragment. What is wrong with it is counted from its own first byte.
function Reader:payload(kind, start)
    local packet = self.base
    self.at, self.base = start, start
    PAYLOADS[kind](self)
    self.base = packet
end

local BODIES = {
    [PAD] = function(r)
        local start = r.at
        local odd = r:raw("padding", r.to - start):find("[^\0]")
        r:require(not odd, "padding", start + (odd or 1) - 1, "is not 0")
        return "PAD"
    end,
    [MESSAGE] = function(r, flags)
        r:number("hop_limit", 1)
        r:number("hop_count", 1)
        r:require(r:take(1, "reserved"):uint() == 0, "reserved", r.at - 1, "has reserved bits set")
        local source = r:nonzero("source", 4)
        r:number("header_class", 4)
        local sequence = r:number63("message_sequence")
        r:number63("publish_time_ns")
        local route_length, count = r:number("route_length", 2), (r:number("attribute_count", 2))
        r:route(route_length)
        local to = bit.band(flags, 2) == 2 and r:fence_payload()
        r:attributes(count)
        r:finish("attributes")
        if to then r:carried(to) end
        return ("MESSAGE %d:%s"):format(source, tostring(sequence))
    end,
    [HELLO] = function(r)
        local role = r:number("role", 1)
        r:require(ROLES[role], "role", r.at - 1, "is unknown")
        r:nonzero("hold_time_ms", 2)
        local node, seen = r:nonzero("node", 4), (r:number("seen_node", 4))
        r:nonzero("incarnation", 8)
        local seen_incarnation = r:number("seen_incarnation", 8)
        local both = (seen == 0) == (seen_incarnation == UInt64.new(0))
        r:require(both, "seen_incarnation", r.at - 8, "and seen_node must both be 0 or both not")
        r:finish("HELLO")
        return ("HELLO %s %d"):format(ROLES[role], node)
    end,
    [CONTROL] = function(r, flags)
        local kind, sequence, ack = r:session()
        r:require(kind ~= 0, "kind", r.base + 5, "is 0, which is not allowed")
        r:require(sequence ~= 0, "sequence", r.base + 24, "is 0, which is not allowed")
        local start = r.at
        r:raw("fragment", r.to - start)
        if bit.band(flags, 6) == 6 and PAYLOADS[kind] then r:payload(kind, start) end
        return ("CONTROL %s sequence %d ack %d"):format(KINDS[kind] or kind, sequence, ack)
    end,
    [ACK] = function(r)
        local kind, sequence, ack = r:session()
        r:require(kind == 0, "kind", r.base + 5, "is not 0")
        r:require(sequence == 0, "sequence", r.base + 24, "is not 0")
        r:finish("ACK")
        return "ACK " .. ack
    end,
    [SEAL] = function(r)
        r:number("algorithm", 1)
        local key = r:number("key_id", 2)
        r:number("session", 8)
        local counter = r:number("counter", 8)
        r:raw("mac", 16)
        r:finish("SEAL")
        return ("SEAL key %d counter %s"):format(key, tostring(counter))
    end,
}

-- Drawing ----------------------------------------------------------------------------------------------------

local function draw(tree, nodes)
    for _, node in ipairs(nodes) do
        -- An explicit nil is not the same as no text.
        local text_or_none = node.text and { node.text } or {}
        local item = tree:add(node.field, node.range, table.unpack(text_or_none))
        if node.children then draw(item, node.children) end
    end
end

local function read_packet(r, kind)
    r:number("version", 1)
    r:number("type", 1)
    r:number("length", 2)
    if kind == PAD then return BODIES[PAD](r) end
    r.is_message = kind == MESSAGE
    local flags = r:flags(KNOWN_FLAGS[kind])
    local to = bit.band(flags, 1) == 1 and r:fence(MINIMUM[kind] - 5)
    local summary = BODIES[kind](r, flags)
    if to then r:trailer(to) end
    return summary
end

-- A message within a payload: its packet, and nothing that belongs to the packet around it.
function Reader:component()
    local start, to = self.at, self.to
    self:require(start + 1 > to or self.tvb(start, 1):uint() == VERSION, "version", start, "is not 1")
    self:require(start + 4 <= to, "packet", start, "runs past the end")
    self:require(self.tvb(start + 1, 1):uint() == MESSAGE, "type", start + 1, "is not MESSAGE")
    local size = self.tvb(start + 2, 2):uint()
    self:require(size >= MINIMUM[MESSAGE], "length", start + 2, "is below the minimum")
    self:require(start + size <= to, "length", start + 2, "runs past the end")
    self.to = start + size
    read_packet(self, MESSAGE)
    self.to, self.is_message = to, false
end

local function dissect_packet(tvb, at, size, tree)
    local kind = tvb(at + 1, 1):uint()
    local r = Reader.new(tvb, at, at + size)
    local good, result = pcall(read_packet, r, kind)
    if not good and type(result) ~= "table" then error(result, 0) end
    local summary = good and result or "malformed " .. PACKETS[kind]
    local item = tree:add(cbn, tvb(at, size), "CBN " .. summary)
    for _, nodes in ipairs(r.open_lists) do draw(item, nodes) end
    if not good then item:add_proto_expert_info(malformed, result.text) end
    return summary
end

-- Why no packet can be framed at `at`, or nil and its length.
local function frame(tvb, at)
    local left = tvb:len() - at
    if tvb(at, 1):uint() ~= VERSION then return "version at byte " .. at .. " is not 1" end
    if left < 4 then return "packet at byte " .. at .. " runs past the end" end
    local kind, size = tvb(at + 1, 1):uint(), tvb(at + 2, 2):uint()
    if kind > SEAL then return "packet type at byte " .. at + 1 .. " is unknown" end
    if size < MINIMUM[kind] then return "length at byte " .. at + 2 .. " is below the minimum" end
    if size > left then return "length at byte " .. at + 2 .. " runs past the end" end
    return nil, size
end

function cbn.dissector(tvb, pinfo, tree)
    pinfo.cols.protocol = "CBN"
    local at, summaries = 0, {}
    while at < tvb:len() do
        local why, size = frame(tvb, at)
        if why then
            tree:add(cbn, tvb(at), "CBN datagram"):add_proto_expert_info(malformed, why)
            summaries[#summaries + 1] = "malformed datagram"
            break
        end
        summaries[#summaries + 1] = dissect_packet(tvb, at, size, tree)
        at = at + size
    end
    pinfo.cols.info = table.concat(summaries, ", ")
    return tvb:len()
end

DissectorTable.get("udp.port"):add(PORT, cbn)
