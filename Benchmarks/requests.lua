-- The requests of each operation for wrk. Arguments after `--`: operation, application id, session tokens by comma.
-- What was measured is printed as one line of JSON, which load.py reads.

local threads = 0

function setup(thread)
    threads = threads + 1
    thread:set("seed", threads)
end

local function id() return tostring(1000000000 + math.random(10000)) end
local function genre() return tostring(math.random(100)) end

local game = '{"title":"A game of the benchmark","genre":"new","studio":"Studio 17","note":"Made by a request",'
    .. '"score":4711,"rating":3.5,"plays":12,"live":true,"tags":["fast","new"],"meta":{"level":3,"mode":"solo"},'
    .. '"released":{"__type":"Date","iso":"2020-05-17T10:00:00.000Z"},'
    .. '"place":{"__type":"GeoPoint","latitude":48.2,"longitude":11.5}}'

local function batch()
    local calls = {}
    for number = 1, 50 do
        calls[number] = '{"method":"POST","path":"/parse/classes/NewGame","body":' .. game .. '}'
    end
    return '{"requests":[' .. table.concat(calls, ",") .. ']}'
end

local function find(class, value, rest)
    return "/parse/classes/" .. class .. "?where=%7B%22genre%22%3A%22" .. value .. "%22%7D&order=-createdAt&" .. rest
end

local makers = {
    ["health"] = function() return wrk.format("GET", "/parse/health") end,
    ["get"] = function() return wrk.format("GET", "/parse/classes/Game/" .. id()) end,
    ["find"] = function() return wrk.format("GET", find("Game", genre(), "limit=100")) end,
    ["include"] = function() return wrk.format("GET", find("Play", genre(), "limit=20&include=team")) end,
    ["create"] = function() return wrk.format("POST", "/parse/classes/NewGame", nil, game) end,
    ["update"] = function()
        return wrk.format("PUT", "/parse/classes/Game/" .. id(), nil, '{"title":"Title ' .. math.random(1000) .. '"}')
    end,
    ["increment"] = function()
        local body = '{"plays":{"__op":"Increment","amount":1}}'
        return wrk.format("PUT", "/parse/classes/Game/" .. id(), nil, body)
    end,
    ["me"] = function()
        wrk.headers["X-Parse-Session-Token"] = tokens[math.random(#tokens)]
        return wrk.format("GET", "/parse/users/me")
    end,
    ["login"] = function()
        local body = '{"username":"user' .. math.random(#tokens) .. '","password":"benchmark"}'
        return wrk.format("POST", "/parse/login", nil, body)
    end,
    ["file"] = function() return wrk.format("GET", nil) end,
}

function init(arguments)
    math.randomseed(os.time() + seed * 7919)
    wrk.headers["X-Parse-Application-Id"] = arguments[2]
    wrk.headers["Content-Type"] = "application/json"
    tokens = {}
    for token in string.gmatch(arguments[3] or "", "[^,]+") do tokens[#tokens + 1] = token end
    if arguments[1] == "batch" then
        local fixed = wrk.format("POST", "/parse/batch", nil, batch())
        request = function() return fixed end
    else
        request = makers[arguments[1]]
    end
end

function done(summary, latency, requests)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format('MEASURED {"requests":%d,"seconds":%.6f,"p50":%.3f,"p99":%.3f,"errors":%d,"bytes":%d}\n',
        summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
        failed, summary.bytes))
end
