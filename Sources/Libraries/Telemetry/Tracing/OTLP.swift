import Tracing

/// Encodes messages of the OpenTelemetry protocol as Protocol Buffers.
enum OTLP {
    /// Returns an `ExportTraceServiceRequest` with the spans of one process.
    static func request(_ spans: [[UInt8]], resource: SpanAttributes, version: String) -> [UInt8] {
        let scope = message(1, text(1, "roost") + text(2, version))
        let spansOfScope = spans.reduce(into: scope) { $0 += message(2, $1) }
        return message(1, message(1, attributes(1, resource)) + message(2, spansOfScope))
    }

    static func span(_ span: RequestSpan, _ trace: TraceContext, _ state: RequestSpan.State, end: UInt64) -> [UInt8] {
        var bytes = identifiers(of: trace)
        if let state = trace.state { bytes += text(3, state) }
        if let parent = span.parent { bytes += message(4, self.bytes(of: parent.bigEndian)) }
        bytes += text(5, state.name)
        bytes += number(6, span.kind == .server ? 2 : span.kind == .client ? 3 : 1)
        for (field, time) in [(UInt64(7), span.start), (8, end)] {
            bytes += varint(field << 3 | 1) + self.bytes(of: time.littleEndian)
        }
        bytes += attributes(9, state.attributes)
        if let link = state.link { bytes += message(13, identifiers(of: link)) }
        if state.isFailed { bytes += message(15, number(3, 2)) }
        // Field 16 contains the flags: the trace is sampled.
        return bytes + varint(16 << 3 | 5) + [1, 0, 0, 0]
    }

    private static func identifiers(of trace: TraceContext) -> [UInt8] {
        message(1, bytes(of: trace.traceID.high.bigEndian) + bytes(of: trace.traceID.low.bigEndian))
            + message(2, bytes(of: trace.spanID.bigEndian))
    }

    private static func attributes(_ field: UInt64, _ attributes: SpanAttributes) -> [UInt8] {
        var bytes: [UInt8] = []
        // `SpanAttributes` isn't a `Sequence`.
        // swift-format-ignore: ReplaceForEachWithForLoop
        attributes.forEach { name, value in
            // Full URLs contain tokens and signatures.
            guard name != "url.full", name != "url.query", let value = Self.value(value) else { return }
            bytes += message(field, text(1, name) + message(2, value))
        }
        return bytes
    }

    private static func value(_ value: SpanAttribute) -> [UInt8]? {
        switch value {
        case .int32(let number): self.number(3, UInt64(bitPattern: Int64(number)))
        case .int64(let number): self.number(3, UInt64(bitPattern: number))
        case .string(let text): self.text(1, String(decoding: text.utf8.prefix(1024), as: UTF8.self))
        case .bool(let flag): text(1, "\(flag)")
        case .double(let number): text(1, "\(number)")
        case .stringConvertible(let convertible): self.value(.string("\(convertible)"))
        default: nil
        }
    }

    private static func text(_ field: UInt64, _ text: String) -> [UInt8] { message(field, text.utf8) }

    private static func message(_ field: UInt64, _ content: some Collection<UInt8>) -> [UInt8] {
        varint(field << 3 | 2) + varint(UInt64(content.count)) + content
    }

    private static func number(_ field: UInt64, _ number: UInt64) -> [UInt8] { varint(field << 3) + varint(number) }

    private static func varint(_ number: UInt64) -> [UInt8] {
        var (bytes, rest): ([UInt8], UInt64) = ([], number)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    private static func bytes(of number: UInt64) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }
}
