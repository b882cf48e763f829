/// Generates malformed requests to every route, deterministically for a seed.
struct MalformedGenerator {
    var values: MalformedValues
    private let sessionToken: String

    init(seed: UInt64, sessionToken: String) {
        values = MalformedValues(seed: seed)
        self.sessionToken = sessionToken
    }

    mutating func next() -> MalformedRequest {
        values.isReadable = values.chance(80)
        let (methods, path, body) = route()
        var method = values.chance(90) ? values.pick(methods) : values.pick(Self.methods)
        var target = "/parse" + path
        var bytes = body
        if bytes.isEmpty, !path.contains("?"), values.chance(70) { target += query() }
        // SDKs send all requests as POST.
        if method == "GET", bytes.isEmpty, values.chance(50) {
            method = "POST"
            bytes = values.object([("_method", MalformedValues.quoted("GET"))] + values.parameters())
        }
        if !values.isReadable, values.chance(40) { bytes = broken(bytes) }
        if values.chance(3) { target = oddTarget(target) }
        return MalformedRequest(method: method, target: target, headers: headers(&bytes, path), body: bytes)
    }

    private static let methods = [
        "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "QUERY", "get", "X-ODD",
    ]

    /// Returns a route's methods, path and body, if it takes one.
    private mutating func route() -> (methods: [String], path: String, body: [UInt8]) {
        let name = "/classes/" + Self.encoded(values.className())
        let identifier = values.chance(60) ? "abcdefghij" : Self.encoded(bytes: values.text())
        switch Int.random(in: 0..<140, using: &values.random) {
        case 100..<128: return tableRoute()
        case 128..<140: return aggregate()
        case 0..<28: return (["GET"], name, [])
        case 28..<33: return (["GET"], "\(name)/\(identifier)", [])
        case 33..<50: return (["POST"], name, fields())
        case 50..<58: return (["PUT", "PATCH"], "\(name)/\(identifier)", fields())
        case 58..<60: return (["DELETE"], "\(name)/\(identifier)", [])
        case 60..<66: return (["POST"], "/batch", batch())
        case 66..<70: return (["POST", "PUT"], values.chance(70) ? "/users" : "/users/\(identifier)", account())
        case 70..<74:
            let paths = [
                "/login", "/verifyPassword", "/loginAs", "/logout", "/upgradeToRevocableSession", "/challenge",
            ]
            return (["POST", "GET"], values.pick(paths), account())
        case 74..<76: return (["POST"], values.pick(["/requestPasswordReset", "/verificationEmailRequest"]), account())
        case 76..<79:
            return (
                ["GET", "POST", "PUT", "DELETE"],
                values.pick(["/sessions", "/sessions/me", "/sessions/\(identifier)"]), fields()
            )
        case 79..<82: return (["GET", "POST", "PUT"], values.chance(60) ? "/roles" : "/roles/\(identifier)", fields())
        case 82..<85:
            return (
                ["POST", "PUT"], values.chance(60) ? "/installations" : "/installations/\(identifier)", installation()
            )
        case 85..<87: return (["GET", "PUT"], "/config", config())
        case 87..<91:
            return (["POST", "PUT", "GET", "DELETE"], "/schemas/" + Self.encoded(values.className()), schema())
        case 91..<94:
            return (["POST", "GET", "DELETE"], "/files/" + Self.encoded(bytes: values.text()), values.value())
        case 94..<96:
            return (["DELETE"], "/purge/" + Self.encoded(values.pick(["Thing", "Absent", "", "a b", "'"])), [])
        case 96..<97: return (["POST"], "/functions/" + Self.encoded(bytes: values.text()), values.value())
        case 97..<98: return (["POST"], "/events/" + Self.encoded(bytes: values.text()), values.value())
        default:
            return (
                ["GET", "POST"],
                values.pick([
                    "/", "/nothing", "/aggregate/Thing", "/hooks/functions", "/push", "/jobs/x", "/users/me",
                    "/serverInfo", "/health", "/scriptlog", "/cloud_code/jobs", "/%2e%2e/%2e%2e",
                ]), []
            )
        }
    }

    mutating func fields() -> [UInt8] {
        if values.chance(3) { return values.value() }
        return values.object(
            (0..<values.pick([1, 1, 2, 3])).map { _ in (values.key(), values.value()) })
    }

    mutating func account() -> [UInt8] {
        let names = [
            "username", "password", "email", "authData", "userId", "authProviderToken", "ACL", "challengeData",
        ]
        return values.object(
            names.filter { _ in values.chance(50) }.map { name in
                guard name == "authData", values.chance(70) else {
                    return (name, values.chance(60) ? values.string() : values.value())
                }
                let provider = values.pick(["anonymous", "facebook", "mfa", "", "a.b", "a'b", "a\"b", "__proto__"])
                let data = values.chance(50) ? values.object([("id", values.string())]) : values.value()
                return (name, values.object([(provider, data)]))
            })
    }

    mutating func installation() -> [UInt8] {
        let names = ["installationId", "deviceToken", "deviceType", "channels", "badge", "timeZone", "GCMSenderId"]
        return values.object(
            names.filter { _ in values.chance(60) }.map { ($0, values.chance(50) ? values.string() : values.value()) })
    }

    mutating func config() -> [UInt8] {
        let names = ["params", "masterKeyOnly", "nonsense"]
        return values.object(
            names.filter { _ in values.chance(60) }.map { ($0, values.chance(60) ? fields() : values.value()) })
    }

    mutating func schema() -> [UInt8] {
        let types = ["String", "Number", "Pointer", "Relation", "Nonsense", "", "Polygon"]
        let field = values.object([
            ("type", values.chance(70) ? MalformedValues.quoted(values.pick(types)) : values.value()),
            ("targetClass", values.chance(50) ? MalformedValues.quoted(values.className()) : values.value()),
            ("required", values.value(3)), ("defaultValue", values.value(2)),
        ])
        let permission = values.object([
            (
                values.pick(["get", "find", "create", "addField", "protectedFields", "readUserFields", "nonsense"]),
                values.acl(1)
            )
        ])
        let parts: [(String, [UInt8])] = [
            ("className", MalformedValues.quoted(values.className())),
            ("fields", values.object([(values.key(), values.chance(80) ? field : values.value())])),
            ("classLevelPermissions", values.chance(70) ? permission : values.value()),
            ("indexes", values.object([(values.key(), values.object([(values.key(), values.value(3))]))])),
        ]
        return values.object(
            parts.filter { _ in values.chance(60) }.map { ($0.0, values.chance(90) ? $0.1 : values.value()) })
    }

    mutating func batch() -> [UInt8] {
        let elements = (0..<Int.random(in: 0...4, using: &values.random)).map { _ in
            if values.chance(10) { return values.value() }
            let path = values.pick([
                "/parse/classes/Thing", "/parse/classes/Thing/abcdefghij", "/classes/Thing", "/parse/batch",
                "/parse/login", "/parse/users", "/parse/roles", "/parse/classes/%zz", "/parse/classes/Thing?where={",
                "",
            ])
            return values.object([
                (
                    "method",
                    values.chance(85)
                        ? MalformedValues.quoted(values.pick(["POST", "PUT", "GET", "DELETE"])) : values.value()
                ),
                ("path", values.chance(90) ? MalformedValues.quoted(path) : values.value()), ("body", fields()),
            ])
        }
        let list = values.chance(90) ? values.list(elements) : values.value()
        return values.object(
            [("requests", list)]
                + (values.chance(30) ? [("transaction", Array(values.pick(["true", "1", "\"true\""]).utf8))] : []))
    }

    private mutating func query() -> String {
        let pairs = values.parameters().map { name, value in
            let value =
                value.first == UInt8(ascii: "\"") && values.chance(80) ? value.dropFirst().dropLast() : value[...]
            return Self.encoded(name) + "=" + Self.encoded(bytes: Array(value))
        }
        return "?" + pairs.joined(separator: "&")
            + (values.chance(4) ? values.pick(["&%zz=1", "&where=%", "&&&=", "&%ff=%fe", "&limit", "?x"]) : "")
    }

    /// Returns a path with wrong encoding or of another route.
    private mutating func oddTarget(_ target: String) -> String {
        values.pick([
            target + "%", target + "/%zz", target + "/%ff%fe", target + "/%00", target + "//", "/" + target, "*", "/",
            "http://elsewhere" + target, target + "/..", "/parse", "/parse?", "/other", target + "/a/b/c/d",
            "/parse/" + String(repeating: "a", count: 8000), target + ";x=1", "/parse/%2f%2f", "/PARSE/classes/Thing",
        ])
    }

    /// Returns the body with bytes removed, changed, inserted or appended.
    private mutating func broken(_ body: [UInt8]) -> [UInt8] {
        guard !body.isEmpty else { return values.text() }
        var body = body
        let place = Int.random(in: body.indices, using: &values.random)
        switch Int.random(in: 0..<6, using: &values.random) {
        case 0: body.removeSubrange(place...)
        case 1: body.remove(at: place)
        case 2: body[place] = UInt8.random(in: 0...255, using: &values.random)
        case 3: body.insert(contentsOf: values.text(), at: place)
        case 4: body += body
        default: body = [0xEF, 0xBB, 0xBF] + body + [0]
        }
        return body
    }

    /// Returns header fields. Credentials may be in the body instead, as in the JavaScript SDK.
    private mutating func headers(_ body: inout [UInt8], _ path: String) -> [(name: String, value: [UInt8])] {
        var headers: [(name: String, value: [UInt8])] = []
        func add(_ name: String, _ value: String) { headers.append((name, Array(value.utf8))) }
        let types = [
            "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16", "", "x/y/z",
            "multipart/form-data",
        ]
        if !body.isEmpty { add("Content-Type", values.chance(92) ? "application/json" : values.pick(types)) }
        switch Int.random(in: 0..<100, using: &values.random) {
        case 0..<45:
            add("X-Parse-Application-Id", "testApp")
            add("X-Parse-REST-API-Key", "testRest")
        case 45..<60:
            add("X-Parse-Application-Id", "testApp")
            add("X-Parse-REST-API-Key", "testRest")
            // Later requests need the session.
            if path != "/logout", path != "/upgradeToRevocableSession" { add("X-Parse-Session-Token", sessionToken) }
        case 60..<85:
            add("X-Parse-Application-Id", "testApp")
            add("X-Parse-Master-Key", "testMaster")
        case 85..<88:
            add("X-Parse-Application-Id", "testApp")
            add("X-Parse-Maintenance-Key", "testMaintenance")
        case 88..<95:
            guard body.first == UInt8(ascii: "{"), body.count > 2 else { break }
            let credentials: [(String, [UInt8])] = [
                ("_ApplicationId", values.chance(90) ? MalformedValues.quoted("testApp") : values.value()),
                ("_MasterKey", values.chance(60) ? MalformedValues.quoted("testMaster") : values.value()),
                ("_SessionToken", values.chance(50) ? MalformedValues.quoted("") : values.value()),
                ("_InstallationId", values.chance(50) ? values.string() : values.value()),
                ("_method", values.chance(50) ? MalformedValues.quoted(values.pick(Self.methods)) : values.value()),
            ].filter { _ in values.chance(85) }
            body =
                values.object(credentials).dropLast() + (credentials.isEmpty ? [] : [UInt8(ascii: ",")])
                + body.dropFirst()
        case 95..<97:
            add("Authorization", values.pick(["Basic", "Basic !!!!", "Basic dGVzdEFwcDp0ZXN0TWFzdGVy", "Bearer x"]))
        default: break
        }
        let odd = [
            "X-Parse-Session-Token", "X-Parse-Installation-Id", "X-Parse-Request-Id", "X-Parse-Cloud-Context",
            "X-Parse-Client-Version", "X-Forwarded-For", "If-None-Match", "Range", "Content-Encoding", "Origin",
            "Accept",
        ]
        if values.chance(10) {
            headers.append((values.pick(odd), values.text().filter { $0 >= 0x20 && $0 != 0x7F }))
        }
        return headers
    }

    static func encoded(_ text: String) -> String { encoded(bytes: Array(text.utf8)) }

    static func encoded(bytes: [UInt8]) -> String {
        bytes.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                String(UnicodeScalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}
