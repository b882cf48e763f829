import JSON
import TestSupport

/// Requests to most API routes, whose responses must not depend on the location of the tables.
enum RouteSteps {
    /// A request. It contains values of earlier responses as `<name>`.
    struct Step {
        let method: String
        let path: String
        var body = ""
        var caller = Caller.anonymous
        /// The name under which the id of the response is available to later steps, and its session token with the
        /// suffix `Token`.
        var kept: String?
        /// Whether the response contains figures that differ between servers.
        var isFigures = false
    }

    enum Caller { case anonymous, master, user }

    private static func step(
        _ method: String, _ path: String, _ body: String = "", as caller: Caller = .anonymous, keep: String? = nil
    ) -> Step { Step(method: method, path: path, body: body, caller: caller, kept: keep) }

    private static func find(_ condition: String, as caller: Caller = .anonymous, order: String = "title") -> Step {
        step(
            "POST", "/classes/Song", #"{"_method":"GET","where":\#(condition),"order":"\#(order)","count":1}"#,
            as: caller)
    }

    private static func figures(_ path: String) -> Step {
        Step(method: "GET", path: path, caller: .master, isFigures: true)
    }

    private static let place = #"{"__type":"GeoPoint","latitude":10,"longitude":20}"#
    private static let area = #"{"__type":"Polygon","coordinates":[[0,0],[0,30],[30,30],[30,0]]}"#
    private static let lena = #"{"__type":"Pointer","className":"_User","objectId":"<lena>"}"#
    private static let song = #"{"__type":"Pointer","className":"Song","objectId":"<song>"}"#

    private static let uniqueIndex = #"{"indexes":{"one":{"title":1,"$unique":true}}}"#
    private static let secondSecret = #"{"title":"Secret"}"#

    private static let classes: [Step] = [
        step(
            "POST", "/schemas/Song",
            """
            {"fields":{"title":{"type":"String"},"plays":{"type":"Number"},"place":{"type":"GeoPoint"},
            "area":{"type":"Polygon"},"tags":{"type":"Array"},"data":{"type":"Object"},
            "fans":{"type":"Relation","targetClass":"_User"},"artist":{"type":"Pointer","targetClass":"_User"},
            "gone":{"type":"Relation","targetClass":"Song"}},
            "indexes":{"byTitle":{"title":1},"words":{"title":"text"}}}
            """, as: .master),
        step("PUT", "/schemas/Song", #"{"indexes":{"plays":{"plays":-1,"title":1}}}"#, as: .master),
        step("PUT", "/schemas/Song", uniqueIndex, as: .master),
        step("PUT", "/schemas/Song", #"{"fields":{"gone":{"__op":"Delete"}}}"#, as: .master),
        step("GET", "/schemas/Song", as: .master),
        step("GET", "/schemas", as: .master),
        step("POST", "/schemas/Song", #"{"fields":{}}"#, as: .master),
    ]

    private static let accounts: [Step] = [
        step(
            "POST", "/users", #"{"username":"Lena","password":"secret","email":"lena@example.com"}"#, keep: "lena"),
        step("POST", "/users", #"{"username":"lena","password":"secret"}"#),
        step("POST", "/users", #"{"username":"kim","password":"secret","email":"LENA@example.com"}"#),
        step("POST", "/users", #"{"authData":{"anonymous":{"id":"one"}}}"#),
        step("POST", "/users", #"{"authData":{"anonymous":{"id":"one"}}}"#),
        step("POST", "/login", #"{"username":"Lena","password":"secret"}"#),
        step("POST", "/login", #"{"username":"Lena","password":"wrong"}"#),
        step("GET", "/users/me", as: .user),
        step("PUT", "/users/<lena>", #"{"age":30}"#, as: .user),
        step("POST", "/requestPasswordReset", #"{"email":"lena@example.com"}"#),
        step("GET", "/sessions/me", as: .user),
        step(
            "POST", "/roles",
            #"{"name":"editors","ACL":{"*":{"read":true}},"users":{"__op":"AddRelation","objects":[\#(lena)]}}"#,
            as: .master),
        step("POST", "/roles", #"{"name":"editors","ACL":{"*":{"read":true}}}"#, as: .master),
        step("GET", "/roles"),
        step(
            "POST", "/installations", #"{"deviceType":"ios","installationId":"one","deviceToken":"ab"}"#, keep: "phone"),
        step("PUT", "/installations/<phone>", #"{"badge":{"__op":"Increment","amount":1}}"#),
    ]

    private static let objects: [Step] = [
        step(
            "POST", "/classes/Song",
            #"{"title":"Blue in Green","plays":1,"place":\#(place),"tags":["a"],"data":{"n":1,"a":{"b":"c"}}}"#,
            keep: "song"),
        step(
            "POST", "/classes/Song",
            #"{"title":"All Blues","plays":2,"area":\#(area),"artist":\#(lena),"extra":true}"#, keep: "other"),
        step(
            "POST", "/classes/Song", #"{"title":"Secret","ACL":{"role:editors":{"read":true,"write":true}}}"#,
            as: .master, keep: "secret"),
        step("POST", "/classes/Song", secondSecret),
        step(
            "PUT", "/classes/Song/<song>",
            """
            {"plays":{"__op":"Increment","amount":4},"data.n":{"__op":"Increment","amount":2},"data.a.b":"d",
            "tags":{"__op":"Add","objects":["b","b"]},"fans":{"__op":"AddRelation","objects":[\(lena)]}}
            """),
        step("PUT", "/classes/Song/<song>", #"{"tags":{"__op":"AddUnique","objects":["a","z"]}}"#),
        step(
            "PUT", "/classes/Song/<song>",
            #"{"tags":{"__op":"Remove","objects":["b"]},"data.a":{"__op":"Delete"}}"#),
        step("GET", "/classes/Song/<song>"),
        step("GET", "/classes/Song/<other>?include=artist", as: .user),
        step("GET", "/classes/Song/<secret>"),
        step("GET", "/classes/Song/<secret>", as: .user),
        step("PUT", "/classes/Song/<secret>", #"{"title":"Open"}"#, as: .user),
    ]

    private static let finds: [Step] = [
        find("{}"), find("{}", as: .user), find(#"{"plays":{"$gt":1}}"#),
        find(#"{"title":{"$regex":"^all","$options":"i"}}"#), find(#"{"title":{"$in":["All Blues",null]}}"#),
        find(#"{"title":{"$text":{"$search":{"$term":"blues"}}}}"#), find(#"{"tags":"a"}"#),
        find(#"{"tags":{"$all":["a","z"]}}"#), find(#"{"data.n":3}"#),
        find(#"{"artist":{"$inQuery":{"className":"_User","where":{"age":30}}}}"#, as: .user),
        find(#"{"place":{"$nearSphere":\#(place),"$maxDistanceInKilometers":1}}"#),
        find(#"{"area":{"$geoIntersects":{"$point":\#(place)}}}"#), find(#"{"fans":\#(lena)}"#),
        step(
            "POST", "/users",
            #"{"_method":"GET","keys":"username","where":{"$relatedTo":{"object":\#(song),"key":"fans"}}}"#, as: .user),
        step(
            "POST", "/aggregate/Song",
            """
            {"_method":"GET","pipeline":[{"$group":{"_id":"$extra","sum":{"$sum":"$plays"}}},{"$sort":{"sum":1}}]}
            """, as: .master),
        step("POST", "/aggregate/Song", #"{"_method":"GET","distinct":"title"}"#, as: .master),
        step("GET", "/classes/None"),
    ]

    private static func call(_ method: String, _ path: String, _ body: String) -> String {
        #"{"method":"\#(method)","path":"/parse/classes/Song\#(path)","body":\#(body)}"#
    }

    private static let increment = #"{"plays":{"__op":"Increment","amount":1}}"#

    private static let batches: [Step] = [
        step(
            "POST", "/batch",
            #"{"requests":[\#(call("POST", "", #"{"title":"Batched"}"#)),\#(call("DELETE", "/none", "{}"))]}"#),
        step(
            "POST", "/batch",
            """
            {"transaction":true,"requests":[\(call("PUT", "/<song>", increment)),\(call("PUT", "/<other>", increment))]}
            """),
        step(
            "POST", "/batch",
            """
            {"transaction":true,
            "requests":[\(call("PUT", "/<song>", increment)),\(call("PUT", "/<other>", #"{"plays":"text"}"#))]}
            """),
        step("GET", "/classes/Song/<song>"),
        step("POST", "/classes/New", #"{"a":1}"#, keep: "new"), step("DELETE", "/classes/New/<new>"),
    ]

    private static let administration: [Step] = [
        step("PUT", "/config", #"{"params":{"welcome":"hello"},"masterKeyOnly":{"welcome":false}}"#, as: .master),
        step("GET", "/config"),
        step("POST", "/hooks/functions", #"{"functionName":"f","url":"http://127.0.0.1:1/f"}"#, as: .master),
        step("GET", "/hooks/functions", as: .master), step("DELETE", "/hooks/functions/f", as: .master),
        step("POST", "/push_audiences", #"{"name":"all","query":"{}"}"#, as: .master, keep: "audience"),
        step("PUT", "/push_audiences/<audience>", #"{"name":"some"}"#, as: .master),
        step("GET", "/push_audiences", as: .master),
        step("PUT", "/graphql-config", #"{"params":{"enabledForClasses":["Song"]}}"#, as: .master),
        step("GET", "/graphql-config", as: .master), step("GET", "/cloud_code/jobs", as: .master),
        step("POST", "/jobs/none", "{}", as: .master), step("POST", "/events/AppOpened", "{}"),
        step("POST", "/files/a.txt", "hello", as: .user, keep: "file"),
        step("GET", "/files/testApp/<file>"), step("DELETE", "/files/<file>", as: .master),
        step("GET", "/files/testApp/<file>"),
        figures("/serverInfo"), figures("/index_advice"), figures("/slow_queries"), figures("/scriptlog"),
        step("DELETE", "/purge/New", as: .master), step("DELETE", "/schemas/New", as: .master),
        step("DELETE", "/schemas/Song", as: .master), step("DELETE", "/classes/Song/<song>"),
        step("DELETE", "/purge/Song", as: .master), step("DELETE", "/schemas/Song", as: .master),
        step("GET", "/schemas/Song", as: .master), step("DELETE", "/users/<lena>", as: .user),
        step("POST", "/logout", "{}", as: .user), step("GET", "/users/me", as: .user),
    ]

    /// Runs all steps on a server, and returns the responses without values that always differ.
    ///
    /// - Parameter withUniqueIndex: Whether to create and test a unique index.
    static func answers(
        of server: TestServer, withUniqueIndex: Bool = true
    ) async throws -> [(request: String, answer: String)] {
        var kept: [String: String] = [:]
        var answers: [(String, String)] = []
        for step in classes + accounts + objects + finds + batches + administration
        where withUniqueIndex || (step.body != uniqueIndex && step.body != secondSecret) {
            func filled(_ text: String) -> String {
                kept.reduce(text) { $0.replacing("<\($1.key)>", with: $1.value) }
            }
            let identity: TestServer.Identity =
                switch step.caller {
                case .anonymous: .anonymous
                case .master: .master
                case .user: .session(kept["lenaToken"] ?? "")
                }
            let type = step.body.isEmpty || step.body.hasPrefix("{") ? "application/json" : "text/plain"
            let answer = try await server.send(
                step.method, filled(step.path), bytes: Array(filled(step.body).utf8), as: identity,
                headers: ["Content-Type": type])
            if let name = step.kept {
                kept[name] = answer["objectId"]?.stringValue ?? answer["name"]?.stringValue
                kept[name + "Token"] = answer["sessionToken"]?.stringValue
            }
            let told = step.isFigures ? "" : comparable(answer.json).text
            answers.append(("\(step.method) \(step.path) \(step.body)", "\(answer.status) \(told)"))
        }
        return answers
    }

    private static let passing: Set<Name> = [
        "objectId", "createdAt", "updatedAt", "sessionToken", "expiresAt", "url", "name", "iso", "installationId",
    ]

    private static func comparable(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            var result: JSONObject = [:]
            for (key, value) in object {
                switch key {
                case "ACL": result[key] = .object(withoutUsers(value.objectValue ?? [:]))
                // Users without a name get a random one of 25 characters.
                case "username" where value.stringValue?.utf8.count == 25: result[key] = "…"
                default: result[key] = passing.contains(key) ? "…" : comparable(value)
                }
            }
            // Fields added after a process read the class come last.
            return .object(JSONObject(uniqueKeysWithValues: result.sorted { $0.key < $1.key }))
        case .array(let list): return .array(list.map(comparable))
        default: return value
        }
    }

    private static func withoutUsers(_ acl: JSONObject) -> JSONObject {
        var result: JSONObject = [:]
        for (key, value) in acl { result[key.text.utf8.count == 10 ? "…" : key] = value }
        return result
    }
}
