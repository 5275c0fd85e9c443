-- Bounds-checked reading of packets into nodes (field, range, text, children), for cbn.lua, which loads this.
--
-- Reading stops at the first fault with error{text}; what was added before it stays in `open_lists`. Loaded
-- on its own this does nothing.

return function(fields, text)

local Reader = {}
Reader.__index = Reader

function Reader.new(tvb, from, to)
    return setmetatable({ tvb = tvb, base = from, at = from, to = to, open_lists = { {} } }, Reader)
end

function Reader:fail(what, at, why)
    error({ text = ("%s at byte %d %s"):format(what, at - self.base, why) }, 0)
end

function Reader:require(condition, what, at, why)
    if not condition then self:fail(what, at, why) end
end

function Reader:add(field, range, text, children)
    local list = self.open_lists[#self.open_lists]
    list[#list + 1] = { field = field, range = range, text = text, children = children }
end

-- What is added between `open` and `close` becomes the children of the node that `close` adds.
function Reader:open() self.open_lists[#self.open_lists + 1] = {} end

function Reader:close(field, start, text)
    local children = table.remove(self.open_lists)
    self:add(field, self.tvb(start, self.at - start), text, children)
end

function Reader:take(size, what)
    self:require(self.at + size <= self.to, what, self.at, "runs past the end")
    local range = size > 0 and self.tvb(self.at, size) or nil
    self.at = self.at + size
    return range
end

function Reader:number(name, size)
    local range = self:take(size, name)
    self:add(fields[name], range)
    return size == 8 and range:uint64() or range:uint(), range
end

function Reader:nonzero(name, size)
    local start = self.at
    local value = self:number(name, size)
    self:require(value ~= (size == 8 and UInt64.new(0) or 0), name, start, "is 0, which is not allowed")
    return value
end

function Reader:number63(name)
    local value, range = self:number(name, 8)
    self:require(range(0, 1):uint() < 0x80, name, self.at - 8, "has its top bit set")
    return value
end

function Reader:raw(name, size)
    local range = self:take(size, name)
    if range then self:add(fields[name], range) end
    return range and range:bytes():raw() or ""
end

function Reader:text(size, what)
    local start = self.at
    local range = self:take(size, what)
    local bytes = range and range:bytes():raw() or ""
    self:require(text.valid_utf8(bytes), what, start, "is not valid UTF-8")
    return bytes, range
end

function Reader:finish(what)
    self:require(self.at == self.to, what, self.at, "is followed by bytes that belong to nothing")
end

-- `count` things in ascending order of their bytes, each read by `read`, joined to one text.
function Reader:set(count, what, read, between, none)
    local texts, last = {}, ""
    while #texts < count do
        local start = self.at
        texts[#texts + 1] = read(self)
        local bytes = self.tvb(start, self.at - start):bytes():raw()
        self:require(text.ascending(last, bytes), what, start, "is not above the one before it")
        last = bytes
    end
    return #texts == 0 and none or table.concat(texts, between)
end

-- The bytes of a route, and under them the destinations they name if they are such a list.
function Reader:route(size)
    local start = self.at
    local range = self:take(size, "route")
    if not range then return end
    local bytes, children = range:bytes(), {}
    local at, before = 0, 0
    while at < size do
        local first, step, weight, byte = at, 0, 1, 0x80
        while byte >= 0x80 and at < size and at - first < 5 do
            byte = bytes:get_index(at)
            step, weight, at = step + byte % 0x80 * weight, weight * 0x80, at + 1
        end
        before = before + step + 1
        local shortest = byte > 0 or at - first == 1
        if byte >= 0x80 or not shortest or before > 0xFFFFFFFF then children = nil break end
        children[#children + 1] = {
            field = fields.destination, range = self.tvb(start + first, at - first), text = before,
        }
    end
    self:add(fields.route, range, nil, children)
end

return Reader

end
