/// The reason for rejecting a configuration, described for the operator. Never contains secrets.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The message, with one line per mistake.
    public let message: String
    /// Whether one of the mistakes is in the command's arguments.
    public let isUsage: Bool

    public var description: String { message }

    public init(_ message: String, isUsage: Bool = false) { (self.message, self.isUsage) = (message, isUsage) }

    static func invalid(_ name: String, _ allowed: String) -> ConfigurationError {
        ConfigurationError("\(name) must be \(allowed)")
    }

    /// Returns the error for a list entry that is neither an address nor a network.
    static func invalidAddress(_ name: String, _ error: AddressList.InvalidEntry) -> ConfigurationError {
        ConfigurationError("The Parse Server option \"\(name)\" contains an invalid IP address \"\(error.entry)\".")
    }

    /// Returns the error for an unknown option, with a suggestion if there is one.
    ///
    /// - Parameter advice: The advice if there is no suggestion, or nil for none.
    static func unknown(_ name: String, among names: [String], otherwise advice: String? = nil) -> ConfigurationError {
        let advice = hint(name, among: names) ?? advice
        return ConfigurationError("error: unknown option \(name)" + (advice.map { ". \($0)" } ?? ""))
    }

    /// Returns a suggestion for an unknown option, such as its usual spelling, the option that it belongs to or a
    /// similar name, or nil if there is none.
    static func hint(_ name: String, among names: [String]) -> String? {
        let key = name.split(separator: ".").last.map(String.init) ?? name
        let lowercased = key.lowercased()
        if let spelling = names.first(where: { $0.lowercased() == lowercased }) { return "Did you mean \(spelling)?" }
        if key == "useMasterKey" { return "Remove it: it is an option of SDK calls, not of the server" }
        if let owner = OptionTable.owner(of: key) { return "It belongs in \(owner.name): \(owner.name).\(key)" }
        if key != name, OptionTable.find(key) != nil { return "It belongs at the top level: \(key)" }
        return names.nearest(to: key).map { "Did you mean \($0)?" }
    }

    /// Returns the error with the file, variable or flag of the mistake added to the first sentence of each line.
    func found(in place: String?) -> ConfigurationError {
        guard let place else { return self }
        let lines = message.split(separator: "\n").map { Self.line(String($0), in: place) }
        return ConfigurationError(lines.joined(separator: "\n"))
    }

    private static func line(_ message: String, in place: String) -> String {
        // Sentences begin with a capital letter, so "env. variable" doesn't end one.
        let end = message.firstRange(of: #/\. [A-Z"`]/#)?.lowerBound ?? message.endIndex
        let (first, rest) = (message[..<end], message[end...])
        let hasStop = rest.isEmpty && first.hasSuffix(".")
        return "\(hasStop ? first.dropLast() : first) (\(place))\(hasStop ? "." : "")\(rest)"
    }
}

extension Collection<String> {
    /// Returns the text closest to a misspelled one, or nil if none is close.
    package func nearest(to misspelt: String) -> String? {
        // Longer texts can't be misspelled names.
        guard misspelt.utf8.count <= 64 else { return nil }
        let letters = Array(misspelt.lowercased().utf8)
        let best = map { (name: $0, distance: Self.distance(letters, Array($0.lowercased().utf8))) }
            .min { $0.distance < $1.distance }
        guard let best, best.distance <= Swift.max(1, best.name.utf8.count / 4) else { return nil }
        return best.name
    }

    /// Returns the edit distance in bytes. Swapping two neighboring bytes counts as one edit.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var rows = [Array(0...right.count)]
        for (i, letter) in left.enumerated() {
            var row = [i + 1]
            for (j, other) in right.enumerated() {
                var smallest = Swift.min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (letter == other ? 0 : 1))
                if i > 0, j > 0, letter == right[j - 1], left[i - 1] == other {
                    smallest = Swift.min(smallest, rows[i - 1][j - 1] + 1)
                }
                row.append(smallest)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}

extension OptionDefinition {
    /// A description of the allowed values, such as `a number`.
    var allowed: String {
        switch kind {
        case .string: "a string"
        case .number: "a number"
        case .boolean: "true or false"
        case .array: "a list"
        case .texts: "a list of strings, for example [\"a\", \"b\"]"
        case .stringOrArray: "a string or a list of strings"
        case .stringOrNumber: "a string or a number"
        case .object: "an object" + (Self.examples[name].map { ", for example \($0)" } ?? "")
        case .any: "a value"
        }
    }

    static let examples = [
        "accountLockout": #"{"threshold": 3, "duration": 5}"#,
        "databaseOptions": #"{"poolSize": 20}"#,
        "emailAdapter":
            #"{"module": "smtp", "options": {"host": "smtp.example.com", "from": "App <app@example.com>"}}"#,
        "fileUpload": #"{"enableForPublic": true}"#,
        "https": #"{"certificate": "fullchain.pem", "key": "key.pem"}"#,
        "liveQuery": #"{"classNames": ["Message"]}"#,
        "metrics": #"{"port": 9464}"#,
        "passwordPolicy": #"{"resetTokenValidityDuration": 86400}"#,
        "rateLimit": #"[{"requestPath": "/functions/*path", "requestTimeWindow": 60000, "requestCount": 100}]"#,
    ]

    static func words(for range: ClosedRange<Int>) -> String {
        // Port 0 selects a free port, which only tests need.
        if range == 0...65_535 { return "between 1 and 65535" }
        return range.upperBound > 1_000_000_000
            ? "a number of at least \(range.lowerBound)" : "between \(range.lowerBound) and \(range.upperBound)"
    }
}
