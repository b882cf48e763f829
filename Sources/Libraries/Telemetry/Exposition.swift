/// Metrics as Prometheus reads them: its text format, version 0.0.4, or OpenMetrics 1.0, which it prefers.
public struct Exposition: Sendable {
    /// A text format.
    public enum Format: Sendable {
        case prometheus, openMetrics

        /// The format that a reader asks for, by its header field `Accept`.
        public init(accept: String?) {
            let types = accept?.split(separator: ",") ?? []
            let takesOpenMetrics = types.contains { type in
                let parts = type.split(separator: ";").map { $0.filter { $0 != " " } }
                return parts.first == "application/openmetrics-text" && !parts.contains("q=0")
                    && (parts.contains("version=1.0.0") || !parts.contains { $0.hasPrefix("version=") })
            }
            self = takesOpenMetrics ? .openMetrics : .prometheus
        }

        /// The media type of the text.
        public var contentType: String {
            switch self {
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    /// A family's type.
    public enum Kind: String {
        case counter, gauge, histogram
    }

    /// Names of labels and their values.
    public typealias Labels = KeyValuePairs<String, String>

    /// Its format.
    public let format: Format
    /// The text so far.
    public private(set) var text = ""
    private var family = ""

    /// Nothing yet.
    public init(_ format: Format = .prometheus) { self.format = format }

    /// Ends the text.
    public mutating func end() { if format == .openMetrics { text += "# EOF\n" } }

    /// Begins a family; the samples that follow are its own.
    public mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        family = name
        // In OpenMetrics a counter has no ending, which its samples have.
        let isShort = format == .openMetrics && kind == .counter && name.hasSuffix("_total")
        let name = isShort ? String(name.dropLast("_total".count)) : name
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    /// A sample of the family.
    public mutating func add(_ labels: Labels, _ value: Int) { write("", labels, "\(value)") }

    /// A sample of the family.
    public mutating func add(_ labels: Labels, _ value: Double) { write("", labels, "\(value)") }

    /// A family of one sample.
    public mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
        begin(name, kind, help)
        add([:], value)
    }

    /// A family of one sample.
    public mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Double) {
        begin(name, kind, help)
        add([:], value)
    }

    /// A family of counters by one label.
    public mutating func counters<Value>(_ name: String, _ help: String, by label: String, _ counters: Counters<Value>)
    {
        begin(name, .counter, help)
        for value in Value.allCases { add([label: value.text], counters[value]) }
    }

    /// The samples of a histogram of the family.
    mutating func add(_ labels: Labels, _ counts: Histogram.Counts, _ bounds: Histogram.Bounds) {
        var sum: UInt64 = 0
        for (bound, count) in zip(bounds.texts, counts.buckets) {
            sum += count
            // OpenMetrics has one way to write a number.
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
