import HTTPTypes

/// The header fields that let pages of other origins call the interface (CORS).
struct CrossOrigin: Sendable {
    private let byOrigin: [String: HTTPFields]
    private let fallback: HTTPFields

    /// Works the fields out for every allowed origin.
    ///
    /// - Parameters:
    ///   - origins: The origins whose pages may call; the first one is named to pages of others.
    ///   - extraHeaders: Header fields that pages may send besides Parse's own.
    init(origins: [String], extraHeaders: [String]) {
        let headers = ([Self.parseHeaders] + extraHeaders).joined(separator: ", ")
        func fields(_ origin: String) -> HTTPFields {
            var fields = HTTPFields()
            fields[.accessControlAllowOrigin] = origin
            fields[.accessControlAllowMethods] = "GET,PUT,POST,DELETE,OPTIONS"
            fields[.accessControlAllowHeaders] = headers
            fields[.accessControlExposeHeaders] = "X-Parse-Job-Status-Id, X-Parse-Push-Status-Id"
            if origins.count > 1 { fields[.vary] = "Origin" }
            return fields
        }
        byOrigin = Dictionary(origins.map { ($0, fields($0)) }) { first, _ in first }
        fallback = fields(origins.first ?? "*")
    }

    /// The fields for an answer to a page of `origin`; nil for callers that are no pages.
    func fields(origin: String?) -> HTTPFields {
        origin.flatMap { byOrigin[$0] } ?? fallback
    }

    private static let parseHeaders =
        "X-Parse-Master-Key, X-Parse-REST-API-Key, X-Parse-Javascript-Key, X-Parse-Application-Id, "
        + "X-Parse-Client-Version, X-Parse-Session-Token, X-Requested-With, X-Parse-Revocable-Session, "
        + "X-Parse-Request-Id, Content-Type, Pragma, Cache-Control"
}
