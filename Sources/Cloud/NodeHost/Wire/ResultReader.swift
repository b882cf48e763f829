import CloudCode
import JSON
import Operations
import ParseModel
import Platform

/// Reads the results of calls from a process.
enum ResultReader {
    /// - Throws: `ParseError` or `CloudFailure` if the code threw an error.
    static func result(_ message: JSONObject, of call: CloudCall) throws -> CloudResult {
        if let error = message["error"] { throw failure(error) }
        var result = CloudResult(value: message["value"])
        result.context = message["context"]?.objectValue
        if let response = message["response"] {
            result.status = response["status"]?.numberValue.flatMap { Int(exactly: $0) }
            result.headers = (response["headers"]?.objectValue ?? [:]).map { ($0.key.text, $0.value.stringValue ?? "") }
        }
        if let operations = message["operations"]?.objectValue {
            result.write = .operations(operations, reverted: message["reverted"]?.names ?? [])
        } else if let fields = message["fields"]?.objectValue {
            result.write = .fields(fields)
        }
        if let objects = message["objects"]?.arrayValue {
            result.found = .objects(objects.compactMap { found($0, of: call) })
        } else if let query = message["query"]?.objectValue {
            result.found = .query(query)
        }
        if let event = message["liveEvent"]?.objectValue {
            result.event = CloudResult.Event(
                isSent: event["sendEvent"]?.boolValue ?? true, object: event["object"]?.objectValue,
                original: event["original"]?.objectValue)
        }
        result.answer = message["answer"]
        result.responseFields = message["told"]?.objectValue ?? [:]
        if let file = message["file"]?.objectValue, let sent = call.file { result.file = read(file, sent) }
        return result
    }

    /// Returns an object in a find result. The class name is kept only if it differs from the requested class.
    private static func found(_ value: JSONValue, of call: CloudCall) -> JSONObject? {
        guard var object = value.objectValue else { return nil }
        object["__type"] = nil
        if object["className"]?.stringValue.hasSameBytes(as: call.className) ?? false { object["className"] = nil }
        return object
    }

    private static func failure(_ error: JSONValue) -> any Error {
        let message = error["message"]?.stringValue
        guard let number = error["code"]?.numberValue, let code = Int(exactly: number) else {
            return CloudFailure(message)
        }
        return ParseError.ofCloudCode(code, message)
    }

    private static func read(_ json: JSONObject, _ sent: TriggerFile) -> TriggerFile {
        var file = sent
        file.name = json["name"]?.stringValue ?? sent.name
        file.url = json["url"]?.stringValue
        file.contentType = json["contentType"]?.stringValue ?? sent.contentType
        file.metadata = json["metadata"]?.objectValue ?? sent.metadata
        file.tags = json["tags"]?.objectValue ?? sent.tags
        if let text = json["base64"]?.stringValue, let data = Data(base64Encoded: text) {
            file.bytes = Array(data)
            file.size = data.count
        }
        return file
    }
}
