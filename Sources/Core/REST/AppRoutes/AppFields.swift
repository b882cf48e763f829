import Encoding
import HTTP
import NIOHTTP1

/// Filters the header fields passed between clients and an app's own routes.
struct AppFields: Sendable {
    private let keys: ApplicationKeys

    init(_ keys: ApplicationKeys) { self.keys = keys }

    /// Hop-by-hop fields (RFC 9110, 7.6.1) and fields that Roost sets itself.
    private static let ofConnection: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-authentication-info",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "content-length",
    ]
    private static let ofClient: Set<String> = [
        "expect", "forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port",
        "x-request-id", "traceparent", "x-parse-master-key", "x-parse-maintenance-key", "x-roost-console",
    ]
    private static let notForApp = ofConnection.union(ofClient)
    private static let notForClient = ofConnection.union(["date", "x-request-id"])

    /// Returns the target for the app, without its fragment. Percent-encodes characters that some clients send raw,
    /// such as `|` and `{`: RFC 9112 (3.2) doesn't allow them, and SwiftNIO refuses to send them.
    static func target(_ target: String) -> String {
        PercentEncoding.encode(String(target.prefix { $0 != "#" }), keepingOnly: "-._~:/?[]@!$&'()*+,;=%")
    }

    /// Returns the request's header fields for the app, without hop-by-hop fields and server keys. Adds the client's
    /// address, scheme and host as Roost sees them.
    func request(
        _ request: IncomingRequest, client: String, scheme: String, host: String
    ) -> HTTPHeaders {
        var fields = HTTPHeaders()
        let named = Self.named(by: request.headers.all)
        for (name, value) in request.headers.all {
            let lowercased = name.asciiLowercased
            guard !Self.notForApp.contains(lowercased), !named.contains(lowercased), !lowercased.hasPrefix("proxy-")
            else { continue }
            switch lowercased {
            case "authorization" where hasKey(value): continue
            case "cookie":
                let others = Self.withoutConsole(value)
                if !others.isEmpty { fields.add(name: name, value: others) }
            // Some clients send the master key in the field of another key.
            default: if !isKey(value) { fields.add(name: name, value: value) }
            }
        }
        // HTTP/1.0 clients may omit Host, but the app gets HTTP/1.1.
        if !fields.contains(name: "Host") { fields.add(name: "Host", value: host.isEmpty ? "localhost" : host) }
        fields.add(name: "X-Forwarded-For", value: client)
        fields.add(name: "X-Forwarded-Proto", value: scheme)
        if !host.isEmpty { fields.add(name: "X-Forwarded-Host", value: host) }
        fields.add(name: "X-Request-Id", value: request.id.description)
        if let parent = request.span?.traceparent { fields.add(name: "traceparent", value: parent) }
        if let length = request.body.declaredLength {
            // A request without a body needs no length, unless the client sent one.
            if length > 0 || request.headers[.contentLength] != nil {
                fields.add(name: "Content-Length", value: "\(length)")
            }
        } else {
            fields.add(name: "Transfer-Encoding", value: "chunked")
        }
        return fields
    }

    /// Returns the response's header fields for the client, and the body's length, or nil if it is unknown.
    static func answer(_ headers: HTTPHeaders) -> (fields: [(String, String)], length: Int?) {
        let named = named(by: headers.map { (name: $0.name, value: $0.value) })
        let fields = headers.filter { field in
            let name = field.name.asciiLowercased
            return !notForClient.contains(name) && !named.contains(name)
        }
        return (
            fields,
            headers["transfer-encoding"].isEmpty ? headers.first(name: "content-length").flatMap { Int($0) } : nil
        )
    }

    private static func named(by fields: some Sequence<(name: String, value: String)>) -> Set<String> {
        var names: Set<String> = []
        for (name, value) in fields where name.asciiLowercased == "connection" {
            names.formUnion(value.split(separator: ",").map { String($0.trimmingSpaces()).asciiLowercased })
        }
        return names
    }

    private func isKey(_ text: String) -> Bool {
        keys.administrator(with: text) != nil
            || [keys.readOnlyMasterKey, keys.maintenanceKey].contains { ApplicationKeys.matches(text, $0) }
    }

    /// Whether the value of an `Authorization` field is a server key or contains one.
    private func hasKey(_ value: String) -> Bool {
        let parts = value.split(maxSplits: 1) { $0 == " " || $0 == "\t" }.map { String($0.trimmingSpaces()) }
        if parts.contains(where: isKey) { return true }
        guard parts.count == 2, parts[0].asciiLowercased == "basic" else { return false }
        let decoded = String(decoding: Base64.decode(parts[1].utf8), as: UTF8.self)
        return decoded.split(separator: ":", maxSplits: 1).last.map { isKey(String($0)) } ?? false
    }

    /// Removes the console's cookies, which browsers send because the console has the same origin.
    private static func withoutConsole(_ cookies: String) -> String {
        cookies.split(separator: ";").map { $0.trimmingSpaces() }
            .filter { !$0.contains("roost-console") && !$0.contains("roost_console") }.joined(separator: "; ")
    }
}
