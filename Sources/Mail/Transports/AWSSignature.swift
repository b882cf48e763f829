import Crypto
import Encoding
import Foundation
import Outgoing

/// Signature Version 4, by which services of Amazon's know who calls.
struct AWSSignature {
    let accessKeyId: String
    let secretAccessKey: String
    /// The token of temporary credentials; nil for lasting ones.
    var sessionToken: String?
    let region: String
    let service: String

    /// The header fields to add to a request: the time, the token if there is one, and the signature of all.
    ///
    /// The host is signed, and so are the fields that the request has.
    func headers(for call: HTTPCall, at date: Date) -> [(name: String, value: String)] {
        let time = Self.time(date)
        var added: [(name: String, value: String)] = [("X-Amz-Date", time)]
        if let sessionToken { added.append(("X-Amz-Security-Token", sessionToken)) }
        let address = Self.parts(call.url)
        let signed = ([("host", address.host)] + (call.headers + added).map { ($0.name.asciiLowercased, $0.value) })
            .sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
        let names = signed.map(\.0).joined(separator: ";")
        let fields = signed.map { "\($0.0):\(Self.trimmed($0.1))\n" }.joined()
        let request = [
            call.method, address.path, address.query, fields, names, SHA256.hash(data: call.body).hexadecimal,
        ].joined(separator: "\n")
        let day = String(time.prefix(8))
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let text = [
            "AWS4-HMAC-SHA256", time, scope, SHA256.hash(data: Array(request.utf8)).hexadecimal,
        ].joined(separator: "\n")
        let signature = HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key(day))
        added.append(
            (
                "Authorization",
                "AWS4-HMAC-SHA256 Credential=\(accessKeyId)/\(scope), SignedHeaders=\(names), "
                    + "Signature=\(signature.hexadecimal)"
            ))
        return added
    }

    /// The key of a day, made of the secret one.
    func key(_ day: String) -> SymmetricKey {
        [day, region, service, "aws4_request"].reduce(SymmetricKey(data: Array("AWS4\(secretAccessKey)".utf8))) {
            SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array($1.utf8), using: $0))
        }
    }

    /// `20150830T123600Z`.
    static func time(_ date: Date) -> String {
        let seconds = Int(date.timeIntervalSince1970.rounded(.down))
        let days = seconds / 86_400
        let day = CivilDate(daysSince1970: days)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(day.year)\(two(day.month))\(two(day.day))T"
            + "\(two(seconds / 3600 % 24))\(two(seconds / 60 % 60))\(two(seconds % 60))Z"
    }

    /// The host, the path and the query of an address, the last with its parameters in order.
    private static func parts(_ url: String) -> (host: String, path: String, query: String) {
        let rest = url.utf8.firstRange(of: "://".utf8).map { url[$0.upperBound...] } ?? url[...]
        let end = rest.utf8.firstIndex { "/?".utf8.contains($0) } ?? rest.endIndex
        let pieces = rest[end...].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = pieces.first.map(String.init) ?? ""
        let query = pieces.count > 1 ? pieces[1].split(separator: "&").sorted().joined(separator: "&") : ""
        return (String(rest[..<end]), path.isEmpty ? "/" : path, query)
    }

    private static func trimmed(_ text: String) -> String {
        text.split(separator: " ").joined(separator: " ")
    }
}
