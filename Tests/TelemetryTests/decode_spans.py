"""Converts an OTLP request on standard input to JSON, with hexadecimal ids."""

import json
import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def value(attribute):
    kind = attribute.value.WhichOneof("value")
    return getattr(attribute.value, kind)


def decoded(data):
    request = ExportTraceServiceRequest.FromString(data)
    return [
        {
            "resource": {item.key: value(item) for item in resource.resource.attributes},
            "scope": scope.scope.name,
            "traceId": span.trace_id.hex(),
            "spanId": span.span_id.hex(),
            "parentSpanId": span.parent_span_id.hex(),
            "traceState": span.trace_state,
            "name": span.name,
            "kind": span.kind,
            "start": span.start_time_unix_nano,
            "end": span.end_time_unix_nano,
            "attributes": {item.key: value(item) for item in span.attributes},
            "links": [link.trace_id.hex() for link in span.links],
            "status": span.status.code,
        }
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


if __name__ == "__main__":
    json.dump(decoded(sys.stdin.buffer.read()), sys.stdout)
