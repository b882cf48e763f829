import JSON

/// The CORS header fields, which allow web pages of other origins to call the API.
package struct CrossOrigin: Sendable {
    private let byOrigin: [Name: [UInt8]]
    private let fallback: [UInt8]

    /// No CORS fields, so that pages of other origins can't read responses.
    package static let none = CrossOrigin(byOrigin: [:], fallback: [])

    private init(byOrigin: [Name: [UInt8]], fallback: [UInt8]) {
        self.byOrigin = byOrigin
        self.fallback = fallback
    }

    /// Prepares the fields for every allowed origin.
    ///
    /// - Parameters:
    ///   - origins: The allowed origins. Pages of other origins get the fields of the first one.
    ///   - extraHeaders: Header fields that pages may send in addition to Parse's.
    package init(origins: [String], extraHeaders: [String]) {
        let headers = ([Self.parseHeaders] + extraHeaders).joined(separator: ", ")
        func lines(_ origin: String) -> [UInt8] {
            var fields = [
                ("Access-Control-Allow-Origin", origin),
                ("Access-Control-Allow-Methods", "GET,PUT,POST,DELETE,OPTIONS"),
                ("Access-Control-Allow-Headers", headers),
                ("Access-Control-Expose-Headers", "X-Parse-Job-Status-Id, X-Parse-Push-Status-Id, X-Request-Id"),
            ]
            if origins.count > 1 { fields.append(("Vary", "Origin")) }
            return fields.flatMap { Array("\($0): \(ResponseHead.singleLine($1))\r\n".utf8) }
        }
        byOrigin = Dictionary(origins.map { (Name($0), lines($0)) }) { first, _ in first }
        fallback = lines(origins.first ?? "*")
    }

    /// Returns the fields for a response, in wire format.
    ///
    /// - Parameter origin: The request's header `Origin`, or nil if missing.
    package func lines(origin: String?) -> [UInt8] {
        origin.flatMap { byOrigin[$0] } ?? fallback
    }

    private static let parseHeaders =
        "X-Parse-Master-Key, X-Parse-REST-API-Key, X-Parse-Javascript-Key, X-Parse-Application-Id, "
        + "X-Parse-Client-Version, X-Parse-Session-Token, X-Requested-With, X-Parse-Revocable-Session, "
        + "X-Parse-Request-Id, Content-Type, Pragma, Cache-Control"
}
