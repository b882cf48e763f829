import Encoding
import JSON

extension OptionTable {
    /// Tracing options, with OpenTelemetry's environment variables.
    static let traces: [OptionDefinition] = [
        .custom(
            "tracingEndpoint", "OTEL_EXPORTER_OTLP_ENDPOINT", .string, \.tracing.endpoint,
            "The address of an OTLP collector over HTTP; /v1/traces is added. Default no traces"
        ) { value, name throws(ConfigurationError) in
            .some(try address(value, name).map { $0.hasSuffix("/") ? $0 + "v1/traces" : $0 + "/v1/traces" })
        },
        .custom(
            "tracingTracesEndpoint", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", .string, \.tracing.endpoint,
            "The complete URL of the collector, instead of tracingEndpoint"
        ) { value, name throws(ConfigurationError) in .some(try address(value, name)) },
        .custom(
            "tracingHeaders", "OTEL_EXPORTER_OTLP_HEADERS", .string, \.tracing.headers,
            "Header fields for the collector: name=value,…, percent-encoded"
        ) { value, name throws(ConfigurationError) in try pairs(value, name) },
        OptionDefinition(
            "tracingProtocol", "OTEL_EXPORTER_OTLP_PROTOCOL", .string, "The protocol of traces; only http/protobuf"
        ) { value, _, _ throws(ConfigurationError) in
            guard value.nonEmptyText ?? "http/protobuf" == "http/protobuf" else {
                throw ConfigurationError("option tracingProtocol must be http/protobuf")
            }
        },
        .text(
            "tracingServiceName", "OTEL_SERVICE_NAME", \.tracing.serviceName, "The server's name in traces"),
        .custom(
            "tracingResource", "OTEL_RESOURCE_ATTRIBUTES", .string, \.tracing.resource,
            "Attributes of the process in traces: name=value,…"
        ) { value, name throws(ConfigurationError) in try pairs(value, name) },
        .custom(
            "tracingSampler", "OTEL_TRACES_SAMPLER", .string, \.tracing.sampler,
            "Requests to trace: always_on, always_off, traceidratio, each also with the prefix parentbased_; "
                + "default parentbased_traceidratio"
        ) { value, name throws(ConfigurationError) in
            guard let text = value.nonEmptyText else { return nil }
            guard let sampler = Configuration.Tracing.Sampler(rawValue: text) else {
                throw .invalid(name, "always_on, always_off or traceidratio, or one of these after parentbased_")
            }
            return sampler
        },
        .custom(
            "tracingSamplerArgument", "OTEL_TRACES_SAMPLER_ARG", .stringOrNumber, \.tracing.ratio,
            "The fraction of requests to trace with traceidratio, 0 to 1; default 0.01"
        ) { value, name throws(ConfigurationError) in
            guard let ratio = value.numberValue ?? value.stringValue.flatMap(Double.init), (0...1).contains(ratio)
            else {
                throw .invalid(name, "between 0 and 1")
            }
            return ratio
        },
        .custom(
            "tracingDisabled", "OTEL_SDK_DISABLED", .boolean, \.tracing.isDisabled,
            "Turns traces off"
        ) { value, _ throws(ConfigurationError) in value.boolValue },
        .choiceOption(
            "tracingTrust", "ROOST_TRACING_TRUST", \.tracing.trust,
            "The senders whose traceparent is trusted: proxy (those in trustProxy), all or none; default proxy"),
        .flag(
            "tracingKeepSlow", "ROOST_TRACING_KEEP_SLOW", \.tracing.keepsSlow,
            "Also traces unsampled requests that fail or reach slowRequest, unless a trusted caller decided"),
    ]

    private static func address(_ value: JSONValue, _ name: String) throws(ConfigurationError) -> String? {
        guard let text = value.nonEmptyText else { return nil }
        guard text.hasPrefix("http://") || text.hasPrefix("https://") else {
            throw .invalid(name, "a URL that begins with http:// or https://")
        }
        return text
    }

    private static func pairs(
        _ value: JSONValue, _ name: String
    ) throws(ConfigurationError) -> [Configuration.Tracing.Pair] {
        var pairs: [Configuration.Tracing.Pair] = []
        for part in (value.nonEmptyText ?? "").split(separator: ",") {
            let sides = part.split(separator: "=", maxSplits: 1).map { PercentEncoding.decode($0.trimmingSpaces()) }
            guard sides.count == 2, let key = sides[0], let text = sides[1], !key.isEmpty else {
                // The error doesn't quote the text, which may contain keys of the collector.
                throw ConfigurationError("option \(name) must be name=value,…, percent-encoded")
            }
            pairs.append(Configuration.Tracing.Pair(name: key, value: text))
        }
        return pairs
    }
}

extension OptionDefinition {
    /// Defines an option whose value is one of several words.
    static func choiceOption<Value: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, _ environment: String, _ path: OptionPath<Value>, _ summary: String
    ) -> OptionDefinition {
        custom(name, environment, .string, path, summary) { value, name throws(ConfigurationError) in
            guard let text = value.nonEmptyText else { return nil }
            guard let choice = Value(rawValue: text) else {
                throw .invalid(name, Value.allCases.map(\.rawValue).joined(separator: " or "))
            }
            return choice
        }
    }
}

extension Configuration {
    /// The selection of traced requests and the export of their spans.
    public struct Tracing: Sendable {
        /// The sampling rule, by OpenTelemetry's name.
        public enum Sampler: String, Sendable {
            case alwaysOn = "always_on"
            case alwaysOff = "always_off"
            case ratio = "traceidratio"
            case parentOn = "parentbased_always_on"
            case parentOff = "parentbased_always_off"
            case parentRatio = "parentbased_traceidratio"

            /// Whether the caller's sampling decision applies to requests within its trace.
            public var followsParent: Bool { rawValue.hasPrefix("parentbased_") }
        }

        /// The callers whose trace context is accepted.
        public enum Trust: String, Sendable, CaseIterable {
            case proxy, all, none
        }

        public struct Pair: Sendable {
            public var name: String
            public var value: String
        }

        /// The URL that receives spans, or nil to disable tracing.
        public var endpoint: String?
        /// Headers of requests to the endpoint.
        public var headers: [Pair] = []
        /// The service name in traces.
        public var serviceName = "roost"
        /// Additional resource attributes of the process.
        public var resource: [Pair] = []
        public var sampler = Sampler.parentRatio
        /// The fraction of requests to trace, 0 to 1.
        public var ratio = 0.01
        /// Whether tracing is off even if an endpoint is set.
        public var isDisabled = false
        public var trust = Trust.proxy
        /// Whether failed and slow requests are traced even if unsampled, unless a trusted caller decides on sampling.
        public var keepsSlow = false
    }
}
