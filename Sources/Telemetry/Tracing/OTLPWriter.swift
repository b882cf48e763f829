/// Spans in the form of the OpenTelemetry protocol: an `ExportTraceServiceRequest` of Protocol Buffers.
package struct OTLPWriter {
    private(set) var bytes: [UInt8] = []

    /// The request for spans of one process.
    ///
    /// - Parameter resource: What the process is.
    package static func request(_ spans: [SpanRecord], resource: [SpanField], version: String) -> [UInt8] {
        var writer = OTLPWriter()
        writer.message(1) { spansOfResource in
            spansOfResource.message(1) { writer in for attribute in resource { writer.attribute(1, attribute) } }
            spansOfResource.message(2) { scopeSpans in
                scopeSpans.message(1) { scope in
                    scope.text(1, "roost")
                    scope.text(2, version)
                }
                for span in spans { scopeSpans.message(2) { $0.span(span) } }
            }
        }
        return writer.bytes
    }

    private mutating func span(_ span: SpanRecord) {
        identifier(1, [span.traceID.high, span.traceID.low])
        identifier(2, [span.id])
        if let state = span.state { text(3, state) }
        if let parent = span.parent { identifier(4, [parent]) }
        text(5, span.name)
        varint(6, UInt64(span.kind.rawValue))
        fixed(7, span.start)
        fixed(8, span.end)
        for attribute in span.attributes { self.attribute(9, attribute) }
        if span.dropped > 0 { attribute(9, .number("roost.dropped_spans", span.dropped)) }
        if let link = span.link {
            message(13) { writer in
                writer.identifier(1, [link.traceID.high, link.traceID.low])
                writer.identifier(2, [link.spanID])
            }
        }
        if span.isFailed { message(15) { $0.varint(3, 2) } }
        // The flags of the trace: it is sampled.
        key(16, 5)
        bytes += [1, 0, 0, 0]
    }

    private mutating func attribute(_ field: UInt64, _ attribute: SpanField) {
        message(field) { pair in
            pair.text(1, attribute.name)
            pair.message(2) { value in
                switch attribute.value {
                case .text(let text): value.text(1, text)
                case .number(let number): value.varint(3, UInt64(bitPattern: Int64(number)))
                }
            }
        }
    }

    /// What comes before a value: the number of the field, and how the value is written.
    private mutating func key(_ field: UInt64, _ form: UInt64) { varint(field << 3 | form) }

    private mutating func varint(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private mutating func varint(_ field: UInt64, _ number: UInt64) {
        key(field, 0)
        varint(number)
    }

    private mutating func fixed(_ field: UInt64, _ number: UInt64) {
        key(field, 1)
        for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private mutating func text(_ field: UInt64, _ text: String) {
        key(field, 2)
        varint(UInt64(text.utf8.count))
        bytes += text.utf8
    }

    private mutating func identifier(_ field: UInt64, _ numbers: [UInt64]) {
        key(field, 2)
        varint(UInt64(8 * numbers.count))
        for number in numbers {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
            }
        }
    }

    private mutating func message(_ field: UInt64, _ body: (inout OTLPWriter) -> Void) {
        var inner = OTLPWriter()
        body(&inner)
        key(field, 2)
        varint(UInt64(inner.bytes.count))
        bytes += inner.bytes
    }
}
