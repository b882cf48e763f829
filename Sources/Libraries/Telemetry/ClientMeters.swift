/// The time of the last request of each kind of client. Recording doesn't block, and memory is bounded.
public final class ClientMeters: Sendable {
    /// The kind of a client, derived from the header field `X-Parse-Client-Version`.
    public enum Kind: Int, CaseIterable, Sendable {
        case iOS, macOS, tvOS, watchOS, swift, android, javaScript, php, dotNet
        /// A client without that header field, such as curl or the Flutter SDK, or with an unknown version.
        case other

        /// Parses a version such as `i5.1.1` or `js4.3.1`.
        public init(version: String?) {
            let letters = version?.prefix { $0.isASCII && ($0.isLetter || $0 == "-") }
            switch letters {
            case "i", "ios", "ios-": self = .iOS
            case "osx": self = .macOS
            case "apple-tv": self = .tvOS
            case "apple-watch": self = .watchOS
            case "swift": self = .swift
            case "a": self = .android
            case "js": self = .javaScript
            case "php": self = .php
            case "net", "net-": self = .dotNet
            default: self = .other
            }
        }

        /// The product name of the SDK.
        public var name: String {
            switch self {
            case .iOS: "iOS SDK"
            case .macOS: "macOS SDK"
            case .tvOS: "tvOS SDK"
            case .watchOS: "watchOS SDK"
            case .swift: "Parse-Swift"
            case .android: "Android SDK"
            case .javaScript: "JavaScript SDK"
            case .php: "PHP SDK"
            case .dotNet: ".NET SDK"
            case .other: "REST API"
            }
        }
    }

    /// Milliseconds since 1970, or zero before the first request.
    private let latest = Kind.allCases.map { _ in Gauge() }

    /// Records a request.
    ///
    /// - Parameters:
    ///   - version: The value of the header field `X-Parse-Client-Version`, or nil if missing.
    ///   - milliseconds: The time in milliseconds since 1970.
    public func record(version: String?, at milliseconds: Int64) {
        let gauge = latest[Kind(version: version).rawValue]
        let now = Int(milliseconds)
        // Writes at most every 250 ms, so that threads mostly read the shared memory.
        if now - gauge.value >= 250 { gauge.set(now) }
    }

    /// The kinds that have sent requests, with the time of the last one in milliseconds since 1970, latest first.
    public var seen: [(kind: Kind, milliseconds: Int64)] {
        zip(Kind.allCases, latest).map { ($0, Int64($1.value)) }.filter { $0.1 > 0 }.sorted { $0.1 > $1.1 }
    }
}
