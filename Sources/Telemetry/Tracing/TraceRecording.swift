import Foundation

/// Which requests are traced, and where their spans go.
public final class TraceRecording: Sendable {
    /// Which traces are recorded.
    public enum Sampler: Sendable, Equatable {
        case always, never
        /// So many of all; every process decides the same about one trace.
        case ratio(Double)

        func records(_ id: TraceContext.TraceID) -> Bool {
            switch self {
            case .always: true
            case .never: false
            case .ratio(let ratio): Double(id.low & 0xFF_FFFF_FFFF_FFFF) < ratio * Double(1 << 56)
            }
        }
    }

    /// Whose word about a trace counts: apps and browsers could have every request recorded.
    public enum Trust: String, Sendable, CaseIterable {
        case proxy, all, none
    }

    /// How traces begin.
    public struct Settings: Sendable {
        /// Which traces are recorded.
        public var sampler = Sampler.ratio(0.01)
        /// Whether a trace that a caller began is recorded where the caller records it.
        public var followsParent = true
        /// Whose word about a trace counts.
        public var trust = Trust.proxy
        /// Whether requests that fail or are slow are recorded although the sampler says no.
        public var keepsSlow = false

        /// The usual.
        public init() {}
    }

    private let settings: Settings
    private let exporter: SpanExporter

    /// Traces whose spans an exporter sends.
    public init(_ settings: Settings, exporter: SpanExporter) {
        self.settings = settings
        self.exporter = exporter
    }

    /// Begins the trace of a request.
    ///
    /// - Parameters:
    ///   - given: What the caller says of its trace; nil for nothing.
    ///   - isProxy: Whether a proxy that is believed sent it. The trace of one who is not believed is only named.
    /// - Returns: nil for a request that is not recorded, whatever becomes of it.
    public func begin(_ given: TraceContext?, isProxy: Bool) -> RequestTrace? {
        let isBelieved = settings.trust == .all || settings.trust == .proxy && isProxy
        let parent = isBelieved ? given : nil
        let id = parent?.traceID ?? .random()
        let isSampled: Bool
        if let parent, settings.followsParent {
            isSampled = parent.isSampled
        } else {
            isSampled = settings.sampler.records(id)
        }
        // Whose caller does not record has its end in no trace, however slow it is.
        let mayTurnSlow = settings.keepsSlow && (parent == nil || !settings.followsParent)
        guard isSampled || mayTurnSlow else { return nil }
        let context = TraceContext(
            traceID: id, spanID: .random(in: 1 ... .max), isSampled: isSampled, state: parent?.state)
        return RequestTrace(
            context, parent: parent?.spanID, link: isBelieved ? nil : given,
            nanoseconds: UInt64(Date().timeIntervalSince1970 * 1e9), exporter: exporter)
    }
}
