-- wrk's requests for each operation. Arguments after `--`: operation, application id, session tokens separated by
-- commas or "-"; optionally a class instead of Game, and its number of rows.
-- Prints the result as one line of JSON for load.py.

local threads = 0

function setup(thread)
    threads = threads + 1
    thread:set("seed", threads)
end

local function encode(text)
    return (text:gsub("[^%w]", function(byte) return string.format("%%%02X", byte:byte()) end))
end

-- A request for each value, which replaces the `@` in `where`.
local function finder(class, where, rest)
    local before, after = where:match("^(.-)@(.*)$")
    local head, tail = "/parse/classes/" .. class .. "?where=" .. encode(before), encode(after) .. "&" .. rest
    return function(value) return wrk.format("GET", head .. value .. tail) end
end

local function id(count) return tostring(1000000000 + math.random(count)) end
local function genre() return tostring(math.random(100)) end

-- Twenty encoded user names.
local function names()
    local first, list = math.random(9980), {}
    for number = 1, 20 do list[number] = "%22fan" .. first + number .. "%22" end
    return table.concat(list, "%2C")
end

local game = '{"title":"A game of the benchmark","genre":"new","studio":"Studio 17","note":"Made by a request",'
    .. '"score":4711,"rating":3.5,"plays":12,"live":true,"tags":["fast","new"],"meta":{"level":3,"mode":"solo"},'
    .. '"released":{"__type":"Date","iso":"2020-05-17T10:00:00.000Z"},'
    .. '"place":{"__type":"GeoPoint","latitude":48.2,"longitude":11.5}}'
local user = '{"__type":"Pointer","className":"_User","objectId":"@"}'
local followed = '{"user":{"$select":{"key":"followed","query":{"className":"Followers","where":{"following":'
    .. user .. '}}}}}'
local named = '{"user":{"$inQuery":{"className":"_User","where":{"username":{"$in":[@]}}}}}'

local function batch()
    local calls = {}
    for number = 1, 50 do
        calls[number] = '{"method":"POST","path":"/parse/classes/NewGame","body":' .. game .. '}'
    end
    return '{"requests":[' .. table.concat(calls, ",") .. ']}'
end

local find = {
    ["include"] = finder("Play", '{"genre":"@"}', "order=-createdAt&limit=20&include=team"),
    ["two-levels"] = finder("Comments", '{"user":' .. user .. '}', "order=-createdAt&limit=20&include=post.user"),
    ["array"] = finder("Playlist", '{"user":' .. user .. '}', "order=-updatedAt&limit=20&include=songs"),
    ["feed"] = finder("Posts", followed, "order=-time&limit=20&include=user"),
    ["in-query"] = finder("Posts", named, "order=-time&limit=20"),
}

local class, rows, new = "Game", 10000, "NewGame"

local makers = {
    ["health"] = function() return wrk.format("GET", "/parse/health") end,
    ["get"] = function() return wrk.format("GET", "/parse/classes/" .. class .. "/" .. id(rows)) end,
    ["find"] = function() return find["find"](genre()) end,
    ["include"] = function() return find["include"](genre()) end,
    ["two-levels"] = function() return find["two-levels"](id(10000)) end,
    ["array"] = function() return find["array"](id(5000)) end,
    ["feed"] = function() return find["feed"](id(10000)) end,
    ["in-query"] = function() return find["in-query"](names()) end,
    ["create"] = function() return wrk.format("POST", "/parse/classes/" .. new, nil, game) end,
    ["update"] = function()
        local body = '{"title":"Title ' .. math.random(1000) .. '"}'
        return wrk.format("PUT", "/parse/classes/Game/" .. id(10000), nil, body)
    end,
    ["increment"] = function()
        local body = '{"plays":{"__op":"Increment","amount":1}}'
        return wrk.format("PUT", "/parse/classes/Game/" .. id(10000), nil, body)
    end,
    ["me"] = function()
        wrk.headers["X-Parse-Session-Token"] = tokens[math.random(#tokens)]
        return wrk.format("GET", "/parse/users/me")
    end,
    ["login"] = function()
        local body = '{"username":"user' .. math.random(#tokens) .. '","password":"benchmark"}'
        return wrk.format("POST", "/parse/login", nil, body)
    end,
    ["function"] = function() return wrk.format("POST", "/parse/functions/hello", nil, '{"name":"you"}') end,
    ["triggered"] = function() return wrk.format("POST", "/parse/classes/Triggered", nil, '{"score":1}') end,
    ["hooked"] = function() return wrk.format("POST", "/parse/classes/Hooked", nil, '{"score":1}') end,
    ["untriggered"] = function() return wrk.format("POST", "/parse/classes/Untriggered", nil, '{"score":1}') end,
    ["route"] = function() return wrk.format("GET", "/hello") end,
    ["file"] = function() return wrk.format("GET", nil) end,
    ["range"] = function()
        wrk.headers["Range"] = "bytes=262144-327679"
        return wrk.format("GET", nil)
    end,
}

-- The apps' most frequent requests, by logged-in users.
local mixture = {
    "get", "find", "include", "two-levels", "array", "feed", "in-query", "create", "update", "increment", "me",
}
makers["mixed"] = function() return makers[mixture[math.random(#mixture)]]() end

-- Picks from prepared requests, so that the client uses little CPU time.
local function drawn(make)
    local list = {}
    for number = 1, 10000 do list[number] = make() end
    return function() return list[math.random(#list)] end
end

function init(arguments)
    math.randomseed(os.time() + seed * 7919)
    wrk.headers["X-Parse-Application-Id"] = arguments[2]
    wrk.headers["Content-Type"] = "application/json"
    tokens = {}
    for token in string.gmatch(arguments[3], "[^,-]+") do tokens[#tokens + 1] = token end
    if arguments[4] then class, rows, new = arguments[4], tonumber(arguments[5]), arguments[4] end
    find["find"] = finder(class, '{"genre":"@"}', "order=-createdAt&limit=100")
    if arguments[1] == "batch" then
        local fixed = wrk.format("POST", "/parse/batch", nil, batch())
        request = function() return fixed end
    elseif arguments[4] then
        request = makers[arguments[1]]
    else
        request = drawn(makers[arguments[1]])
    end
end

function done(summary, latency, requests)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format('MEASURED {"requests":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f,"errors":%d,"bytes":%d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
        failed, summary.bytes))
end
