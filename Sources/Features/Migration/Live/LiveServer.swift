import Encoding
import JSON
import Outgoing
import ParseModel

/// A running parse-server, accessed through its REST interface with the master key.
package struct LiveServer: Sendable {
    /// The server's URL and keys.
    package struct Address: Sendable {
        /// The URL of the REST interface without a trailing slash, such as `https://api.example/parse`.
        package let url: String
        package let applicationID: String
        package let masterKey: String
        /// The maintenance key, or nil if not given. Password hashes can't be read without it.
        package let maintenanceKey: String?

        package init(url: String, applicationID: String, masterKey: String, maintenanceKey: String?) {
            self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
            self.applicationID = applicationID
            self.masterKey = masterKey
            self.maintenanceKey = maintenanceKey
        }
    }

    /// The error for a server that can't be read.
    package struct Failure: Error, CustomStringConvertible {
        /// The message shown to the operator.
        package let description: String
    }

    let address: Address
    let caller: HTTPCaller

    package init(_ address: Address, _ caller: HTTPCaller) {
        self.address = address
        self.caller = caller
    }

    private static let attempts = 5
    private static let largestPage = 256 * 1024 * 1024

    /// Sends a request. Tries up to five times, unless the server rejects the request.
    ///
    /// - Throws: ``Failure`` with the server's message, or `CancellationError`.
    func ask(_ path: String, _ body: JSONObject) async throws -> JSONValue {
        var headers: [(name: String, value: String)] = [
            ("X-Parse-Application-Id", address.applicationID), ("X-Parse-Master-Key", address.masterKey),
            ("Content-Type", "application/json"),
        ]
        if let key = address.maintenanceKey, path.hasSuffix("/_User") { headers[1] = ("X-Parse-Maintenance-Key", key) }
        var body = body
        body["_method"] = "GET"
        let call = HTTPCall("POST", address.url + path, headers: headers, body: body.serialized())
        var last = ""
        for attempt in 0..<Self.attempts {
            if attempt > 0 { try await Task.sleep(for: .milliseconds(250 << attempt)) }
            do {
                let reply = try await caller.send(call, timeLimit: .seconds(120), maxBytes: Self.largestPage)
                if reply.isSuccess, let json = reply.json { return json }
                last =
                    "\(path): \(reply.status) \(reply.json?["error"]?.stringValue ?? "without an answer that is JSON")"
                // A rejected request would be rejected again.
                guard reply.status == 429 || reply.status >= 500 || reply.isSuccess else { break }
            } catch let failure as HTTPCallFailure {
                last = "\(path): \(failure.description)"
            }
        }
        throw Failure(description: "\(address.url)\(last)")
    }

    /// Fetches the classes in the format of the schemas API.
    func schemas() async throws -> [JSONObject] {
        guard let list = try await ask("/schemas", [:])["results"]?.arrayValue else {
            throw Failure(description: "\(address.url)/schemas returned no list of classes")
        }
        return list.compactMap(\.objectValue)
    }

    func page(_ className: Name, _ filter: JSONValue, order: String, keys: String? = nil, limit: Int) async throws
        -> [JSONObject]
    {
        var body: JSONObject = ["where": filter, "order": .string(order), "limit": .number(Double(limit))]
        if let keys { body["keys"] = .string(keys) }
        let answer = try await ask("/classes/\(PercentEncoding.encode(className.text))", body)
        guard let results = answer["results"]?.arrayValue else {
            throw Failure(description: "\(address.url)/classes/\(className) returned no list of objects")
        }
        return results.compactMap(\.objectValue)
    }
}
