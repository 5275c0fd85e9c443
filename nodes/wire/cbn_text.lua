-- How the CBN dissector (cbn.lua, which loads this) writes names and values: as nodes/model/text.py does, so
-- that what Wireshark shows can be pasted into a scenario. Loaded on its own it does nothing.

local text = {}

-- The length of the UTF-8 character at `at`, nil if it is not valid (RFC 3629).
local function character(s, at)
    local a, b = s:byte(at, at + 1)
    if a < 0x80 then return 1 end
    local size = a >= 0xC2 and a < 0xE0 and 2 or a >= 0xE0 and a < 0xF0 and 3 or a >= 0xF0 and a <= 0xF4 and 4
    if not size or not s:find("^" .. ("[\128-\191]"):rep(size - 1), at + 1) then return nil end
    local low = a == 0xE0 and 0xA0 or a == 0xF0 and 0x90 or 0x80
    local high = a == 0xED and 0x9F or a == 0xF4 and 0x8F or 0xBF
    return b >= low and b <= high and size or nil
end

function text.valid_utf8(s)
    local at = 1
    while at <= #s do
        local size = character(s, at)
        if not size then return false end
        at = at + size
    end
    return true
end

-- Control characters, and those that reorder or hide what stands around them, as in nodes/model/text.py.
local UNSAFE = {
    "[\0-\31\127]", "\194[\128-\159]", "\216\156", "\226\128[\139-\143]", "\226\128[\168-\174]",
    "\226\129[\160-\175]", "\239\187\191",
}

local function escape(character_bytes)
    if character_bytes == "\n" then return "\\n" end
    if character_bytes == "\t" then return "\\t" end
    local code = character_bytes:byte(1)
    if #character_bytes > 1 then code = code % 2 ^ (7 - #character_bytes) end
    for at = 2, #character_bytes do code = code * 64 + character_bytes:byte(at) % 64 end
    return ("\\u{%x}"):format(code)
end

function text.quoted(s, quote)
    s = s:gsub("\\", "\\\\")
    for _, pattern in ipairs(UNSAFE) do s = s:gsub(pattern, escape) end
    return quote .. s:gsub(quote, "\\" .. quote) .. quote
end

local KEYWORDS = { ["and"] = 1, ["or"] = 1, any = 1, all = 1, none = 1, ["true"] = 1, ["false"] = 1, inf = 1 }

function text.name(name)
    if name:find("^[A-Za-z_][A-Za-z0-9_.%-]*$") and not KEYWORDS[name] then return name end
    return text.quoted(name, "`")
end

-- The shortest digits that read back as the same number.
function text.float(x)
    if x == math.huge then return "inf" elseif x == -math.huge then return "-inf" end
    local precision = 0
    while tonumber(("%." .. precision .. "e"):format(x)) ~= x do precision = precision + 1 end
    local scientific = ("%." .. precision .. "e"):format(x)
    local exponent = tonumber(scientific:match("e(.*)$"))
    if exponent < -4 or exponent >= 16 then return scientific end
    return ("%." .. math.max(precision - exponent, 1) .. "f"):format(x)
end

function text.time(ns)
    local billion = Int64.new(1000000000)
    local seconds = ns / billion
    local fraction = (ns - seconds * billion):tonumber()
    seconds = seconds:tonumber()
    if fraction < 0 then seconds, fraction = seconds - 1, fraction + 1000000000 end
    local digits = fraction == 0 and "" or (".%09d"):format(fraction):gsub("0+$", "")
    local known, date = pcall(os.date, "!%Y-%m-%dT%H:%M:%S", seconds)
    return known and "@" .. date .. digits .. "Z" or "@" .. tostring(ns) .. " ns"
end

-- Byte for byte: Lua's own `<` follows the locale.
function text.ascending(left, right)
    for at = 1, math.min(#left, #right) do
        local a, b = left:byte(at), right:byte(at)
        if a ~= b then return a < b end
    end
    return #left < #right
end

return text
