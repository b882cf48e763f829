import JSON
import TestSupport
import Testing

/// Code with unusual names, errors and results. Every call gets a response, and the process survives.
@Suite("Hostile JavaScript cloud code")
struct HostileCodeTests {
    private static let functions = """
        const { define, beforeSave, afterSave } = Parse.Cloud;
        for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) define(name, () => `own ${name}`);
        define('params', request => ({
          keys: Object.keys(request.params).sort(), admin: request.params.admin ?? null, all: ({}).admin ?? null,
        }));
        define('context', request => ({ keys: Object.keys(request.context).sort(), admin: request.context.admin ?? null }));
        define('count', request => Object.keys(request.params).length);

        const circular = {};
        circular.self = circular;
        circular.other = circular;
        const thrower = new Proxy({}, { get() { throw new Error('from a proxy'); } });
        const results = {
          circular: () => circular,
          bigInt: () => 10n,
          symbol: () => Symbol('s'),
          aFunction: () => () => 1,
          notANumber: () => ({ a: NaN, b: Infinity }),
          getter: () => ({ get a() { throw new Error('from a getter'); } }),
          toJSON: () => ({ toJSON() { throw new Error('from toJSON'); } }),
          proxy: () => thrower,
          map: () => new Map([['a', 1]]),
          buffer: () => Buffer.from('a'),
          invalidDate: () => new Date(NaN),
          thenable: () => ({ then(resolve) { resolve(7); } }),
          neverTwice: () => new Promise((resolve, reject) => { resolve(1); reject(new Error('too late')); resolve(2); }),
        };
        for (const [name, body] of Object.entries(results)) define(`give-${name}`, body);
        const thrown = {
          symbol: () => Symbol('s'),
          aFunction: () => () => 1,
          number: () => 5,
          emptyObject: () => ({}),
          list: () => ['a'],
          bare: () => Object.create(null),
          messageGetter: () => ({ get message() { throw new Error('x'); } }),
          untold: () => ({ toJSON() { throw new Error('x'); }, toString() { throw new Error('x'); } }),
          proxy: () => thrower,
          circular: () => circular,
          hugeCode: () => new Parse.Error(1e300, 'x'),
          halfCode: () => new Parse.Error(1.5, 'x'),
          codeZero: () => new Parse.Error(0, 'x'),
          longText: () => 'x'.repeat(1024 * 1024),
          nul: () => 'a\\u0000b',
        };
        for (const [name, value] of Object.entries(thrown)) define(`throw-${name}`, () => { throw value(); });

        define('status', (request, response) => response.status(request.params.status).success(1));
        define('header', (request, response) => response.header(request.params.name, request.params.value).success(1));
        define('shout', () => { console.log('x'.repeat(100 * 1024 * 1024)); return 1; });
        define('chatter', () => { for (let i = 0; i < 20000; i++) console.log(`line ${i}`); return 1; });

        beforeSave('Contextual', request => {
          const odd = { number: 5, null: null, list: [1], text: 'x', circular, function: () => 1 };
          request.context = odd[request.object.get('kind')];
        });
        afterSave('Contextual', request => { request.object.set('saw', JSON.stringify(request.context)); });
        beforeSave('Named', request => { request.object.set('seen', JSON.stringify(request.object.get('toString') ?? null)); });
        beforeSave('DiesBefore', () => process.exit(3));
        afterSave('DiesAfter', () => process.exit(3));
        beforeSave('Odd', request => {
          const values = {
            nul: 'x\\u0000y', circular, aFunction: () => 1, notANumber: NaN, deep: Array(300).fill().reduce(a => [a], 1),
            invalidDate: new Date(NaN), pointer: { __type: 'Pointer' }, operator: { __op: 'Nothing' },
          };
          request.object.set('a', values[request.object.get('kind')]);
        });
        """

    @Test("Functions, parameters and context keys can be named like Object.prototype members")
    func names() async throws {
        try await CloudApp.serve(["main.js": Self.functions]) { server, _ in
            for name in ["__proto__", "constructor", "toString", "hasOwnProperty"] {
                #expect(try await server.call(name)["result"] == .string("own \(name)"))
            }
            for name in ["valueOf", "isPrototypeOf", "__defineGetter__", "prototype"] {
                #expect(try await server.call(name).error == "Invalid function: \"\(name)\"")
            }
            let hostile: JSONValue = ["__proto__": ["admin": true], "constructor": 1, "toString": 2]
            let params = try await server.call("params", hostile)
            let expected: JSONValue = [
                "keys": ["__proto__", "constructor", "toString"], "admin": .null, "all": .null,
            ]
            #expect(same(params["result"], expected), "\(params.text)")
            let context = try await server.call(
                "context", headers: ["X-Parse-Cloud-Context": #"{"__proto__":{"admin":true},"a":1}"#])
            #expect(same(context["result"], ["keys": ["__proto__", "a"], "admin": .null]), "\(context.text)")
            let many = JSONObject(uniqueKeysWithValues: (0..<100_000).map { (Name("p\($0)"), .number(1)) })
            #expect(try await server.call("count", .object(many))["result"] == 100_000)
            // A field with the name of an inherited property is merged like any other.
            let id = try await server.create("Named", ["toString": ["a": 1]])
            let named = try await server.send("PUT", "/classes/Named/\(id)", ["toString.b": 2])
            #expect(named["seen"] == #"{"a":1,"b":2}"#, "\(named.text)")
        }
    }

    /// Function results and the expected responses, or nil for error 141.
    private static let results: [(name: String, answer: JSONValue?)] = [
        ("circular", nil), ("bigInt", nil), ("symbol", [:]), ("aFunction", [:]),
        ("notANumber", ["result": ["a": .null, "b": .null]]), ("getter", nil), ("toJSON", nil), ("proxy", nil),
        ("map", ["result": [:]]), ("thenable", ["result": 7]), ("neverTwice", ["result": 1]),
    ]

    @Test("Serializes unusual results or returns an error, and survives huge log output")
    func oddResults() async throws {
        try await CloudApp.serve(["main.js": Self.functions]) { server, _ in
            for (name, expected) in Self.results {
                let answer = try await server.call("give-\(name)")
                if let expected {
                    #expect(same(answer.json, expected), "\(name): \(answer.text)")
                } else {
                    #expect(answer.code == 141 && answer.error?.isEmpty == false, "\(name): \(answer.text)")
                }
            }
            for name in ["buffer", "invalidDate"] {
                let answer = try await server.call("give-\(name)")
                #expect(answer.status < 500, "\(name): \(answer.text)")
            }
            #expect(try await server.call("shout")["result"] == 1)
            #expect(try await server.call("chatter")["result"] == 1)
            #expect(try await server.logs("line 19999"))
        }
    }

    @Test("Responds with an error to any thrown value")
    func oddErrors() async throws {
        try await CloudApp.serve(["main.js": Self.functions]) { server, _ in
            let names = [
                "symbol", "aFunction", "number", "emptyObject", "list", "bare", "messageGetter", "untold", "proxy",
                "circular", "hugeCode", "halfCode", "codeZero", "longText", "nul",
            ]
            for name in names {
                let start = ContinuousClock.now
                let answer = try await server.call("throw-\(name)")
                #expect(
                    answer.status == 400 && answer.code != nil, "\(name): \(answer.status) \(answer.text.prefix(200))")
                #expect(ContinuousClock.now - start < .seconds(20), "\(name)")
            }
        }
    }

    @Test("Rejects or ignores statuses and headers that would break the response")
    func responses() async throws {
        try await CloudApp.serve(["main.js": Self.functions]) { server, _ in
            for status: JSONValue in [-1, 0, 99, 100, 101, 199, 600, 1000, 99999, 1e300, 200.5, "x", .null] {
                let answer = try await server.call("status", ["status": status])
                #expect(answer.status == 400 && answer.code == 141 || answer.status == 200, "\(status): \(answer.text)")
            }
            for status in [200, 201, 204, 304, 404, 503] {
                let answer = try await server.call("status", ["status": .number(Double(status))])
                #expect(answer.status == status)
            }
            let fields: [(String, String)] = [
                ("X-A", "a\r\nX-Evil: 1"), ("X-A\r\nX-Evil", "1"), ("X-A: b", "c"), ("", "x"), ("Content-Length", "3"),
                ("Transfer-Encoding", "chunked"), ("Connection", "close"), ("X-É", "x"),
            ]
            for (name, value) in fields {
                let answer = try await server.call("header", ["name": .string(name), "value": .string(value)])
                #expect(answer["result"] == 1 || answer.code == 141, "\(name): \(answer.text)")
                #expect(answer.headers["x-evil"] == nil, "\(name)")
                #expect(answer.headers["transfer-encoding"] == nil)
            }
            #expect(try await server.call("params")["result"] != nil)
        }
    }

    @Test("Ignores a context that isn't an object, and rejects saves of values that can't be stored")
    func oddSaves() async throws {
        try await CloudApp.serve(["main.js": Self.functions]) { server, _ in
            for kind in ["number", "null", "list", "text", "function"] {
                let answer = try await server.send(
                    "POST", "/classes/Contextual", ["kind": .string(kind)],
                    headers: ["X-Parse-Cloud-Context": #"{"a":1}"#])
                #expect(answer.status == 201, "\(kind): \(answer.text)")
                #expect(answer["saw"] == #"{"a":1}"#, "\(kind): \(answer.text)")
            }
            let circular = try await server.send("POST", "/classes/Contextual", ["kind": "circular"])
            #expect(circular.code == 141, "\(circular.text)")
            for kind in ["nul", "circular", "deep", "pointer", "operator", "invalidDate"] {
                let answer = try await server.send("POST", "/classes/Odd", ["kind": .string(kind)])
                #expect((400..<500).contains(answer.status) && answer.code != nil, "\(kind): \(answer.text)")
                #expect(try await server.find("Odd", ["where": ["kind": .string(kind)]]).results.isEmpty, "\(kind)")
            }
        }
    }

    @Test("Saves nothing if the process crashes in beforeSave, and succeeds if it crashes in afterSave")
    func death() async throws {
        try await TunedServer(Self.functions).run { server, _, _ in
            let before = try await server.send("POST", "/classes/DiesBefore", ["a": 1])
            #expect(before.code == 141 && before.error == "Cloud code stopped.", "\(before.text)")
            #expect(try await server.send("GET", "/schemas/DiesBefore", as: .master).code == 103)
            let after = try await server.send("POST", "/classes/DiesAfter", ["a": 1])
            #expect(after.status == 201, "\(after.text)")
            #expect(try await server.find("DiesAfter").results.count == 1)
        }
    }

    @Test("Calls of disconnected clients run to their end and release their slots")
    func leavingClients() async throws {
        let code = """
            let ended = 0;
            Parse.Cloud.define('slow', async () => { await new Promise(resolve => setTimeout(resolve, 700)); ended++; });
            Parse.Cloud.define('ended', () => ended);
            """
        try await TunedServer(code) { settings in
            // An address may use three of the four slots.
            settings.openCalls = 4
            settings.waitingCalls = 100
        }.run { server, _, _ in
            let clients = (0..<20).map { _ in Task { try await server.call("slow") } }
            try await Task.sleep(for: .milliseconds(200))
            for client in clients { client.cancel() }
            for client in clients { _ = try? await client.value }
            #expect(try await eventually { (try await server.call("ended")["result"]?.numberValue ?? 0) >= 3 })
        }
    }
}
