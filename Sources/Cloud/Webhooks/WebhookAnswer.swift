import CloudCode
import JSON
import Outgoing
import ParseModel

enum WebhookAnswer {
    /// Parses a webhook's response. Throws `ParseError` or `CloudFailure` if it reports an error or is malformed.
    static func read(_ reply: HTTPReply, _ target: CloudTarget) throws -> CloudResult {
        guard reply.isSuccess else {
            if let error = reply.json?["error"], error.isTruthy { throw failure(error) }
            throw CloudFailure("Webhook responded with status \(reply.status).")
        }
        guard !reply.body.isEmpty else { return CloudResult() }
        switch reply.json {
        case .object(let answer)?:
            if let error = answer["error"], error.isTruthy { throw failure(error) }
            return try success(answer["success"], target)
        case .null?, .bool(false)?, .array?: return CloudResult()
        default: throw malformed
        }
    }

    private static let malformed = CloudFailure("Malformed response")

    /// Parses an error: a string, or an object with `code` and `message` or `error`.
    private static func failure(_ error: JSONValue) -> any Error {
        guard case .object(let object) = error else { return CloudFailure(error.stringValue ?? error.text) }
        let text = object["message"]?.stringValue ?? object["error"]?.stringValue
        guard let code = object["code"]?.numberValue.flatMap({ Int(exactly: $0) }) else {
            return CloudFailure(text ?? error.text)
        }
        return ParseError.ofCloudCode(code, text)
    }

    private static func success(_ value: JSONValue?, _ target: CloudTarget) throws -> CloudResult {
        var result = CloudResult()
        guard case .trigger(let event, let className) = target else {
            result.value = value
            return result
        }
        switch (event, value) {
        case (.beforeSave, .object(let fields)?) where className != "@Config" && className != "@File":
            result.write = .fields(fields)
        case (.afterSave, .object(let answer)?) where className != "@Config" && className != "@File":
            if !answer.isEmpty { result.answer = .object(answer) }
        case (.beforeFind, .object(let query)?): result.found = .query(query)
        case (.beforeFind, .array(let objects)?): result.found = .objects(try read(objects))
        case (.afterFind, .array(let objects)?): result.found = .objects(try read(objects))
        case (.afterFind, let value?) where value.isTruthy:
            throw CloudFailure("The webhook's afterFind response must be a list.")
        default: break
        }
        return result
    }

    private static func read(_ list: [JSONValue]) throws -> [JSONObject] {
        try list.map { element in
            guard case .object(let object) = element else {
                throw CloudFailure("The webhook's afterFind response must be a list of objects.")
            }
            return object
        }
    }
}
