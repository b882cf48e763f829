import JSON

/// The header fields that let pages of other origins call the interface (CORS).
package struct CrossOrigin: Sendable {
    private let byOrigin: [Name: [UInt8]]
    private let fallback: [UInt8]

    /// No fields: no page of another origin reads the answers.
    package static let none = CrossOrigin(byOrigin: [:], fallback: [])

    private init(byOrigin: [Name: [UInt8]], fallback: [UInt8]) {
        self.byOrigin = byOrigin
        self.fallback = fallback
    }

    /// Works the fields out for every allowed origin.
    ///
    /// - Parameters:
    ///   - origins: The origins whose pages may call; the first one is named to pages of others.
    ///   - extraHeaders: Header fields that pages may send besides Parse's own.
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

    /// The fields for an answer to a page of `origin`, as they go on the wire; nil for callers that are no pages.
    package func lines(origin: String?) -> [UInt8] {
        origin.flatMap { byOrigin[$0] } ?? fallback
    }

    private static let parseHeaders =
        "X-Parse-Master-Key, X-Parse-REST-API-Key, X-Parse-Javascript-Key, X-Parse-Application-Id, "
        + "X-Parse-Client-Version, X-Parse-Session-Token, X-Requested-With, X-Parse-Revocable-Session, "
        + "X-Parse-Request-Id, Content-Type, Pragma, Cache-Control"
}
