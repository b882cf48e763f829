/// Writes metrics in Prometheus's text format 0.0.4, or in OpenMetrics 1.0, which Prometheus prefers.
public struct Exposition: Sendable {
    public enum Format: Sendable {
        case prometheus, openMetrics

        /// Selects the format requested by the header field `Accept`.
        public init(accept: String?) {
            let types = accept?.split(separator: ",") ?? []
            let takesOpenMetrics = types.contains { type in
                let parts = type.split(separator: ";").map { $0.filter { $0 != " " } }
                return parts.first == "application/openmetrics-text" && !parts.contains("q=0")
                    && (parts.contains("version=1.0.0") || !parts.contains { $0.hasPrefix("version=") })
            }
            self = takesOpenMetrics ? .openMetrics : .prometheus
        }

        /// The value of the header field `Content-Type`.
        public var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    /// The type of a metric family.
    public enum Kind: String {
        case counter, gauge, histogram
    }

    /// Label names and values.
    public typealias Labels = KeyValuePairs<String, String>

    public let format: Format
    /// The text written so far.
    public private(set) var text = ""
    private var family = ""

    public init(_ format: Format = .prometheus) { self.format = format }

    /// Writes the end marker of OpenMetrics. Required as the last call.
    public mutating func end() { if format == .openMetrics { text += "# EOF\n" } }

    /// Begins a metric family. The samples that follow belong to it.
    public mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        family = name
        // In OpenMetrics, only the samples of a counter have the suffix `_total`, not its family.
        let isShort = format == .openMetrics && kind == .counter && name.hasSuffix("_total")
        let name = isShort ? String(name.dropLast("_total".count)) : name
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    /// Writes a sample of the current family.
    public mutating func add(_ labels: Labels, _ value: some Numeric & CustomStringConvertible) {
        write("", labels, "\(value)")
    }

    /// Writes a family with a single sample.
    public mutating func single(
        _ name: String, _ kind: Kind, _ help: String, _ value: some Numeric & CustomStringConvertible
    ) {
        begin(name, kind, help)
        add([:], value)
    }

    /// Writes a family of counters with one label.
    public mutating func counters<Value>(_ name: String, _ help: String, by label: String, _ counters: Counters<Value>)
    {
        begin(name, .counter, help)
        for value in Value.allCases { add([label: value.text], counters[value]) }
    }

    /// Writes a histogram of the current family.
    mutating func add(_ labels: Labels, _ counts: Histogram.Counts, _ bounds: Histogram.Bounds) {
        var sum: UInt64 = 0
        for (bound, count) in zip(bounds.texts, counts.buckets) {
            sum += count
            // OpenMetrics requires a decimal point in bounds.
            let isWhole = format == .openMetrics && !bound.contains(".")
            write("_bucket", labels, "\(sum)", bound: isWhole ? bound + ".0" : bound)
        }
        write("_bucket", labels, "\(counts.count)", bound: "+Inf")
        write("_sum", labels, "\(Double(counts.nanoseconds) / 1e9)")
        write("_count", labels, "\(counts.count)")
    }

    private mutating func write(_ suffix: String, _ labels: Labels, _ value: String, bound: String? = nil) {
        text += family
        text += suffix
        if !labels.isEmpty || bound != nil {
            var separator = "{"
            for (name, value) in labels {
                text += "\(separator)\(name)=\"\(Self.escaped(value))\""
                separator = ","
            }
            if let bound { text += "\(separator)le=\"\(bound)\"" }
            text += "}"
        }
        text += " \(value)\n"
    }

    private static func escaped(_ text: String, quotes: Bool = true) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
