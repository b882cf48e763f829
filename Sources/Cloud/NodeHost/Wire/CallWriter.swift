import CloudCode
import JSON
import Operations
import Platform

/// Writes the messages that start calls in a process.
enum CallWriter {
    enum Kind: String {
        /// Runs a function, job or trigger.
        case call
        /// Runs the functions of the target's validator.
        case validate
        /// Runs a step of an adapter, or an option that is a function.
        case adapter
    }

    /// Returns the message for a call.
    ///
    /// - Parameter record: The user's record if the message only refers to it.
    static func message(_ kind: Kind, _ id: Int, _ call: CloudCall, _ record: CallerRecord?) -> JSONObject {
        var message: JSONObject = [
            "type": .string(kind.rawValue), "id": .number(Double(id)), "depth": .number(Double(call.depth)),
            "requestId": .string(call.requestID),
        ]
        if !call.traceparent.isEmpty { message["traceparent"] = .string(call.traceparent) }
        if let deadline = call.deadline {
            message["deadlineMs"] = .number(max(0, (deadline - .now) / .milliseconds(1)))
        }
        var request = caller(call, record)
        switch call.target {
        case .function(let name):
            message["kind"] = "function"
            message["name"] = .string(name.text)
            request["params"] = .object(call.params)
            if !call.uploads.isEmpty { request["uploads"] = .array(call.uploads.map { .string($0.text) }) }
        case .job(let name):
            message["kind"] = "job"
            message["name"] = .string(name.text)
            request["params"] = .object(call.params)
            request["jobId"] = call.jobId.map(JSONValue.string)
        case .trigger(let event, let name):
            message["kind"] = "trigger"
            message["event"] = .string(event.rawValue)
            message["name"] = .string(name.text)
            addSubject(of: call, event, to: &request)
        }
        if kind == .validate { request["roles"] = .array(call.caller.roles.map { .string($0.text) }) }
        message["request"] = .object(request)
        return message
    }

    private static func caller(_ call: CloudCall, _ record: CallerRecord?) -> JSONObject {
        var request: JSONObject = [
            "master": .bool(call.caller.isMaster), "isReadOnly": .bool(call.caller.isReadOnly),
            "headers": .object(call.headers), "ip": .string(call.ip), "context": .object(call.context),
        ]
        if let record {
            request["record"] = .string(record.name.text)
        } else {
            request["user"] = call.caller.user.map(JSONValue.object)
        }
        request["installationId"] = call.caller.installationId.map(JSONValue.string)
        return request
    }

    private static func addSubject(of call: CloudCall, _ event: CloudEvent, to request: inout JSONObject) {
        request["object"] = call.object.map(JSONValue.object)
        request["original"] = call.original.map(JSONValue.object)
        switch event {
        case .beforeSave, .afterSave: request["changes"] = .object(call.changes)
        case .beforeFind, .afterFind:
            request["query"] = .object(call.query ?? [:])
            request["isGet"] = .bool(call.isGet)
            request["count"] = .bool(call.isCount)
            if event == .afterFind { request["objects"] = .array(call.objects.map(JSONValue.object)) }
        case .beforeConnect, .beforeSubscribe, .afterEvent:
            request["details"] = .object(call.params)
            request["query"] = call.query.map(JSONValue.object)
        default: break
        }
        if let file = call.file { request["file"] = .object(json(file)) }
    }

    private static func json(_ file: TriggerFile) -> JSONObject {
        var json: JSONObject = [
            "name": .string(file.name), "metadata": .object(file.metadata), "tags": .object(file.tags),
        ]
        json["url"] = file.url.map(JSONValue.string)
        json["contentType"] = file.contentType.map(JSONValue.string)
        json["size"] = file.size.map { .number(Double($0)) }
        json["base64"] = file.bytes.map { .string(Data($0).base64EncodedString()) }
        return json
    }
}
