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

return Reader

end
