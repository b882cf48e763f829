import Telemetry
import Tracing

extension Responder {
    func startSpan(_ method: String, _ headers: RequestHeaders, from peer: String) -> RequestSpan? {
        guard let tracer = additions.tracer else { return nil }
        let context = InstrumentationContext.current ?? .topLevel
        var given = context
        tracer.extract(headers, into: &given, using: TraceHeaders())
        let isTrusted = tracer.trust == .all || tracer.trust == .proxy && handler.believes(peer: peer)
        let span = tracer.startSpan(method, context: isTrusted ? given : context, ofKind: .server)
        guard span.isRecording else { return nil }
        if !isTrusted { span.addLink(SpanLink(context: given, attributes: [:])) }
        return span
    }

    func end(_ span: RequestSpan, _ fields: RequestFields) {
        if let route = fields.route { span.operationName = "\(fields.method) \(route)" }
        var attributes: SpanAttributes = [
            "http.request.method": .string(fields.method), "url.scheme": .string(isSecure ? "https" : "http"),
            "url.path": .string(fields.displayedPath), "roost.request_id": .string("\(fields.id)"),
        ]
        attributes["http.route"] = fields.route
        attributes["http.response.status_code"] = fields.status
        attributes["roost.error_code"] = fields.code
        if fields.status.map({ $0 >= 500 }) ?? true {
            attributes["error.type"] = fields.status.map(String.init) ?? "client_closed"
            span.setStatus(SpanStatus(code: .error))
        }
        span.attributes = attributes
        span.end()
    }
}

private struct TraceHeaders: Extractor {
    func extract(key: String, from headers: RequestHeaders) -> String? {
        switch key {
        case "traceparent": headers[.traceParent]
        case "tracestate": headers[.traceState]
        default: nil
        }
    }
}
