import JSON
import TestSupport

/// A request with a configurable size.
struct GrowthRequest: Sendable {
    var method = "POST"
    var path: String
    var bytes: [UInt8] = []
    var headers = ["Content-Type": "application/json"]
    var identity = TestServer.Identity.master

    init(_ method: String, _ path: String, _ body: JSONValue) {
        self.method = method
        self.path = path
        bytes = body.serialized()
    }

    init(get path: String, headers: [String: String] = [:], as identity: TestServer.Identity = .master) {
        method = "GET"
        self.path = path
        self.headers = headers
        self.identity = identity
    }

    init(form path: String, files: [String]) {
        self.path = path
        var body = ""
        for (index, file) in files.enumerated() {
            let name = index == 0 ? "importFile" : "file\(index)"
            body += "--limit\r\nContent-Disposition: form-data; name=\"\(name)\"; filename=\"x.json\"\r\n"
            body += "Content-Type: application/json\r\n\r\n\(file)\r\n"
        }
        bytes = Array((body + "--limit--\r\n").utf8)
        headers = ["Content-Type": "multipart/form-data; boundary=limit"]
    }

    func send(to server: TestServer) async throws -> TestAnswer {
        try await server.send(method, path, bytes: bytes, as: identity, headers: headers)
    }
}

/// A dimension in which requests can grow.
struct GrowthDimension: Sendable {
    struct Place: Sendable {
        let server: TestServer
        /// The id of an object of the class `Node`.
        let id: String
        /// A name that no other request uses.
        let name: String
    }

    let name: String
    /// The smallest size. Requests of twice and four times the size are sent, too.
    let size: Int
    /// Returns a request of the given size, and creates the data that it needs.
    let request: @Sendable (Int, Place) async throws -> GrowthRequest

    init(_ name: String, _ size: Int, _ request: @escaping @Sendable (Int, Place) async throws -> GrowthRequest) {
        self.name = name
        self.size = size
        self.request = request
    }

    static func find(
        _ name: String, _ size: Int, of className: String = "Node",
        _ parameters: @escaping @Sendable (Int) -> JSONObject
    ) -> GrowthDimension {
        GrowthDimension(name, size) { size, _ in
            var body = parameters(size)
            body["_method"] = "GET"
            return GrowthRequest("POST", "/classes/\(className)", .object(body))
        }
    }

    static func update(_ name: String, _ size: Int, _ body: @escaping @Sendable (Int) -> JSONObject) -> GrowthDimension
    {
        GrowthDimension(name, size) { GrowthRequest("PUT", "/classes/Node/\($1.id)", .object(body($0))) }
    }

    static func aggregate(
        _ name: String, _ size: Int, _ pipeline: @escaping @Sendable (Int) -> JSONValue
    ) -> GrowthDimension {
        GrowthDimension(name, size) { size, _ in
            GrowthRequest("POST", "/aggregate/Many", ["_method": "GET", "pipeline": pipeline(size)])
        }
    }

    static func list(_ count: Int, _ element: (Int) -> JSONValue) -> JSONValue { .array((0..<count).map(element)) }

    static func object(_ count: Int, _ key: (Int) -> String, _ value: (Int) -> JSONValue) -> JSONObject {
        var object: JSONObject = [:]
        for index in 0..<count { object[.init(key(index))] = value(index) }
        return object
    }

    static func names(_ count: Int, _ name: (Int) -> String) -> JSONValue {
        .string((0..<count).map(name).joined(separator: ","))
    }

    static func number(_ index: Int) -> JSONValue { .number(Double(index)) }

    static func text(_ count: Int) -> String { String(repeating: "x", count: count) }
}
